// The token stands after the #, so that no server, log or other site ever sees it. It is sent once.
const token = location.hash.slice(1);
if (token) {
  history.replaceState(null, "", "/login");
  document.getElementById("token").value = token;
  document.getElementById("login").submit();
}
