// Of the page, and of the plan in a chat. Ticks: how many are left, and one box for a whole group.
const grouped = (number) => number.toLocaleString("en").replaceAll(",", "\u202f");
function count(form) {
  const all = [...form.querySelectorAll("input[data-one]")], on = all.filter((tick) => tick.checked);
  const taken = on.length + Number(form.dataset.more || 0), total = Number(form.dataset.total || all.length);
  const said = form.querySelector("[data-count]"), spared = form.querySelector("[data-spared]");
  if (said) said.textContent = grouped(taken);
  if (spared) spared.textContent = taken < total ? `${grouped(total - taken)} spared` : "";
  for (const group of form.querySelectorAll(".group")) {
    const own = [...group.querySelectorAll("input[data-one]")], ticked = own.filter((tick) => tick.checked).length;
    const box = group.querySelector("input[data-all]");
    if (box) { box.checked = ticked === own.length; box.indeterminate = ticked > 0 && ticked < own.length; }
  }
  for (const button of form.querySelectorAll("button[data-final]")) button.disabled = !taken;
}
document.addEventListener("change", (event) => {
  const form = event.target.closest("[data-ticks]");
  if (!form) return;
  if (event.target.matches("[data-all]")) {
    for (const tick of event.target.closest(".group").querySelectorAll("input[data-one]")) tick.checked = event.target.checked;
  }
  count(form);
});
document.addEventListener("keydown", (event) => { // Enter would send the form, and a tick is no button
  if (event.key === "Enter" && event.target.matches("[data-ticks] input[type=checkbox]")) event.preventDefault();
});
document.querySelectorAll("[data-ticks]").forEach(count);
