// Forms and links work without this. With it: keys, lists that follow what is typed, parts that come later, counts.

// A page of ours as a document. XMLHttpRequest parses without running anything, so no Trusted Types policy is needed.
function load(address) {
  return new Promise((done, failed) => {
    const request = new XMLHttpRequest();
    request.open("GET", address);
    request.responseType = "document";
    request.onload = () => {
      if (request.status === 401) location.reload(); // the server was started anew, or the login has ended
      else if (request.status === 204) done(null);
      else done(request.response);
    };
    request.onerror = failed;
    request.send();
  });
}

// Replace parts of this page by the parts of another one that have the same ids.
function swap(page, ids) {
  for (const id of ids) {
    const [old, fresh] = [document.getElementById(id), page && page.getElementById(id)];
    if (!old || !fresh) continue;
    const focused = document.activeElement && old.contains(document.activeElement) ? document.activeElement.id : "";
    old.replaceWith(document.importNode(fresh, true));
    if (focused) document.getElementById(focused)?.focus();
  }
  later();
  document.querySelectorAll("[data-ticks]").forEach(count);
}

// Parts that take their time: <div id="found" data-later="/w/x/found">.
function later() {
  for (const part of document.querySelectorAll("[data-later]")) {
    const address = part.dataset.later;
    part.removeAttribute("data-later");
    part.setAttribute("aria-busy", "true");
    load(address).then((page) => swap(page, [part.id]));
  }
}

// <form data-live="results"> follows what is typed, in one part of the page or in several.
let typed = 0, asked = 0;
function follow(form, wait) {
  clearTimeout(typed);
  typed = setTimeout(async () => {
    const address = new URL(form.getAttribute("action"), location.href); // a field may be called action
    for (const [name, value] of new FormData(form)) if (value) address.searchParams.set(name, value);
    const turn = ++asked, parts = form.dataset.live.split(" "), target = document.getElementById(parts[0]);
    target?.setAttribute("aria-busy", "true");
    const page = await load(address).catch(() => null);
    if (turn !== asked) return; // something newer was asked meanwhile
    target?.removeAttribute("aria-busy");
    swap(page, parts);
    history.replaceState(null, "", address);
  }, wait);
}
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-live]");
  if (form) follow(form, 160);
  const said = event.target.matches("input[type=range]") && document.querySelector(`output[for="${event.target.id}"]`);
  if (said) said.textContent = `${grouped(Number(event.target.value))} tokens`;
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.matches("[data-live]")) { event.preventDefault(); follow(form, 0); return; }
  if (form.getAttribute("method") === "post") { // a second click would only be told that it came too late
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "yes";
  }
});
addEventListener("pageshow", () => document.querySelectorAll("[data-sent]").forEach((form) => delete form.dataset.sent));
document.addEventListener("click", (event) => {
  const button = event.target.closest("[data-fetch]");
  if (!button) return;
  event.preventDefault();
  const part = document.getElementById(button.dataset.into);
  part.setAttribute("aria-busy", "true");
  load(button.dataset.fetch).then((page) => swap(page, [part.id]));
});

// Keys: / searches, g and a letter goes to a screen, j and k walk through a list, ? names them all.
let went = 0;
document.addEventListener("keydown", (event) => {
  if (event.target.matches("input:not([type=checkbox]):not([type=range]), select, textarea") || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = document.querySelector(".search input");
  if (event.key === "/" && field) { event.preventDefault(); field.focus(); field.select(); }
  else if (event.key === "?") document.getElementById("keys").showModal();
  else if (Date.now() - went < 900) { went = 0; document.querySelector(`.side [data-key="${CSS.escape(event.key)}"]`)?.click(); }
  else if (event.key === "g") went = Date.now();
  else if (event.key === "j" || event.key === "k") {
    const stops = [...document.querySelectorAll("main .row a.text, main input[data-one], main .time button, main .heap button")].filter((stop) => stop.checkVisibility());
    const next = stops[stops.indexOf(document.activeElement) + (event.key === "j" ? 1 : -1)];
    if (next) { next.focus(); next.scrollIntoView({ block: "nearest" }); }
  }
});

// What others change shows up: 204 while nothing has, else the parts marked data-fresh come anew.
async function look() {
  const address = document.body.dataset.pulse;
  const parts = [...document.querySelectorAll("[data-fresh]")].map((part) => part.id);
  if (!address || !parts.length || document.hidden) return;
  const answer = await fetch(address).catch(() => null);
  if (!answer || answer.status === 204) return;
  if (answer.status === 401) { location.reload(); return; }
  if (!answer.ok) return;
  document.body.dataset.pulse = await answer.text();
  load(location.href).then((page) => swap(page, parts));
}
setInterval(look, 4000);

document.addEventListener("click", (event) => { // a menu closes when something else is clicked
  for (const menu of document.querySelectorAll(".switch[open], .tabs details[open]")) if (!menu.contains(event.target)) menu.open = false;
});
const here = new URL(location.href);
if (here.searchParams.has("did")) { here.searchParams.delete("did"); history.replaceState(null, "", here); }
for (const wide of document.querySelectorAll(".drawn")) wide.scrollLeft = (wide.scrollWidth - wide.clientWidth) / 2; // the middle first
later();
