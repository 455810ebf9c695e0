// The token stands after the #, so that no server, log or other site ever sees it. It is sent once.
function enter() {
  const token = location.hash.slice(1);
  if (!token) return;
  history.replaceState(null, "", "/login");
  document.getElementById("token").value = token;
  document.getElementById("login").submit();
}
addEventListener("hashchange", enter); // a new link, pasted where an old one did not open
enter();
