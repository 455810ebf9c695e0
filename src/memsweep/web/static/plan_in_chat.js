// The plan's side of MCP Apps: JSON-RPC with the host by postMessage. No network, no library.
let last = 0, receipt = "", workspace = "";
const waiting = new Map(), spared = new Set(), main = document.getElementById("main");
const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*"); // nobody else can be the parent
const ask = (method, params) => new Promise((done, failed) => { waiting.set(++last, { done, failed }); post({ id: last, method, params }); });
const call = (name, args) => ask("tools/call", { name, arguments: { workspace_id: workspace, ...args } });
const element = (name, text, kind = "") => Object.assign(document.createElement(name), { textContent: text, className: kind });
const words = (result) => result?.structuredContent?.message ?? result?.content?.[0]?.text ?? "The host gave no answer.";

// The server escapes every text. What slips through all the same is taken out, and the policy would not let it run.
function inert(html) {
  const page = new DOMParser().parseFromString(html, "text/html");
  for (const stray of page.querySelectorAll("script, iframe, object, embed, img, link, meta, base, style")) stray.remove();
  for (const each of page.body.querySelectorAll("*")) {
    for (const { name } of [...each.attributes]) if (/^on|^(href|src|srcdoc|action|formaction|style)$/.test(name)) each.removeAttribute(name);
  }
  return [...page.body.childNodes].map((node) => document.importNode(node, true));
}

// What an answer says to an agent names tools; a person has the button.
function done(answer) {
  if (!answer?.receipt_id || answer.strategy === "secrets") return "";
  const kinds = [["deleted_memories", "memory", "memories"], ["deleted_entities", "name", "names"], ["deleted_relations", "fact", "facts"]];
  const moved = kinds.filter(([key]) => answer[key]).map(([key, one, many]) => `${grouped(answer[key])} ${answer[key] === 1 ? one : many}`);
  const left = answer.skipped?.length ? ` ${grouped(answer.skipped.length)} stayed, changed since.` : "";
  return moved.length ? `Moved ${moved.join(", ")} to the trash.${left}` : "";
}

function show(result) {
  const html = result?._meta?.["memsweep/html"], answer = result?.structuredContent;
  if (!html) return say(done(answer) || words(result), answer?.receipt_id);
  main.replaceChildren(...inert(html));
  workspace = main.querySelector("[data-plan]").dataset.workspace;
  for (const tick of main.querySelectorAll("input[data-one]")) tick.checked = !spared.has(tick.value);
  recount();
}

// Instead of the plan: what became of it, and the way back.
function say(sentence, receiptId = "") {
  receipt = receiptId || "";
  main.replaceChildren(element("p", sentence, "said"));
  if (receipt) main.append(element("button", "Undo", "undo"));
}

function complain(sentence) {
  main.querySelector(".failed")?.remove();
  main.prepend(element("p", sentence, "warning failed"));
}

// Those of other pages count as well.
function recount() {
  const form = main.querySelector("[data-ticks]");
  if (!form) return;
  const here = new Set([...form.querySelectorAll("input[data-one]")].map((tick) => tick.value));
  form.dataset.more = Number(form.dataset.total) - here.size - [...spared].filter((id) => !here.has(id)).length;
  count(form);
}

async function apply(plan) {
  const large = main.querySelector("[name=allow_large]")?.checked ?? false;
  const result = await call("prune_memory", { plan_id: plan, dry_run: false, confirm: true, exclude: [...spared], allow_large: large });
  if (result.isError) return complain(words(result));
  show(result);
  ask("ui/update-model-context", { content: [{ type: "text", text: words(result) }] }).catch(() => {});
}

// Not `submit`: a sandbox without allow-forms stops a form before that.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button, a.button"), plan = main.querySelector("[data-plan]")?.dataset;
  if (!button || button.disabled) return;
  event.preventDefault();
  button.disabled = true;
  try {
    if (button.matches(".final")) await apply(plan.plan);
    else if (button.matches(".undo")) say(words(await call("undo", { receipt_id: receipt })));
    else if (button.name === "page") show(await call("prune_memory", { plan_id: plan.plan, cursor: Number(button.value) > Number(plan.page) ? plan.after : plan.before }));
    else if (plan) say("Nothing was moved. The plan can still be applied until it expires.");
  } catch (error) {
    complain(error?.message ?? "The host did not carry that out; nothing is known to have changed.");
  }
  button.disabled = false;
});
document.addEventListener("change", () => {
  for (const tick of main.querySelectorAll("input[data-one]")) tick.checked ? spared.delete(tick.value) : spared.add(tick.value);
  recount();
});

const dress = (context) => { if (context?.theme) document.documentElement.dataset.theme = context.theme; };
addEventListener("message", ({ data, source }) => {
  if (source !== parent || data?.jsonrpc !== "2.0") return;
  if (waiting.has(data.id) && !data.method) {
    const { done, failed } = waiting.get(data.id);
    waiting.delete(data.id);
    if (data.error) failed(data.error); else done(data.result);
  } else if (data.method === "ui/notifications/tool-result") { spared.clear(); show(data.params); }
  else if (data.method === "ui/notifications/host-context-changed") dress(data.params);
  else if (data.method === "ui/resource-teardown" || data.method === "ping") post({ id: data.id, result: {} });
});
new ResizeObserver(() => post({ method: "ui/notifications/size-changed", params: { height: document.documentElement.scrollHeight } })).observe(document.documentElement);
ask("ui/initialize", { protocolVersion: "2026-01-26", appInfo: { name: "memsweep", version: "1" }, appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] } })
  .then((answer) => { dress(answer.hostContext); post({ method: "ui/notifications/initialized", params: {} }); });
