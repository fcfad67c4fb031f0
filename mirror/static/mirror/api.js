// Sends the requests of the page's forms to this node, and shows the answers.
"use strict";

const MOST_SHOWN = 100000;
// Characters that hide or turn text, as in mirror/core/values/human_readable.py: anyone may write them to the ledger.
const HIDDEN =
  /[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{17b5}\u{180b}-\u{180f}\u{200b}-\u{200f}\u{2028}-\u{202e}\u{2060}-\u{206f}\u{3164}\u{feff}\u{ffa0}\u{fff0}-\u{fffb}\u{1d173}-\u{1d17a}\u{e0000}-\u{e00ff}]/gu;

function marked(text) {
  return text.replace(HIDDEN, (one) => `⟨U+${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

function addressOf(form) {
  let path = form.dataset.path;
  const query = [];
  for (const field of form.querySelectorAll("input, select[name]")) {
    const value = encodeURIComponent(field.value).replaceAll("%3A", ":").replaceAll("%2C", ",");
    if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, value);
    else if (value) query.push(`${field.name}=${value}`);
  }
  return query.length ? `${path}?${query.join("&")}` : path;
}

function readable(text) {
  try {
    text = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    // It is shown as it came.
  }
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}\n…` : text;
}

async function send(event) {
  event.preventDefault();
  const form = event.target;
  const result = form.parentElement.querySelector(".result");
  const [line, status, shown] = ["code", "[role=status]", "pre"].map((name) => result.querySelector(name));
  const address = addressOf(form);
  const body = form.querySelector("textarea");
  const options = body
    ? { method: form.dataset.method, body: body.value, headers: { "content-type": form.dataset.type } }
    : {};
  result.hidden = false;
  line.textContent = `${form.dataset.method} ${address}`;
  status.textContent = "…";
  shown.textContent = "";
  try {
    const began = performance.now();
    const answer = await fetch(address, options);
    const text = await answer.text();
    status.textContent = `${answer.status} in ${Math.round(performance.now() - began)} ms`;
    // Numbers may be larger than scripts can hold, so what looks like one of these is shown as it came.
    shown.textContent = marked(/\d{16}/.test(text.replace(/"[^"]*"/g, "")) ? text : readable(text));
  } catch {
    status.textContent = "The node does not answer.";
  }
}

function openChosen() {
  const chosen = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (chosen instanceof HTMLDetailsElement) chosen.open = true;
  if (chosen?.hidden) {
    filter.querySelector("input").value = "";
    narrow();
    chosen.scrollIntoView();
  }
}

// Shows the requests whose method, path and title have all the words, and their subjects.
function narrow() {
  const words = filter.querySelector("input").value.toLowerCase().split(/\s+/);
  for (const section of document.querySelectorAll("main section")) {
    for (const request of section.querySelectorAll(".request")) {
      const text = request.querySelector("summary").textContent.toLowerCase();
      request.hidden = !words.every((word) => text.includes(word));
    }
    section.hidden = !section.querySelector(".request:not([hidden])");
    document.querySelector(`#pages a[href="#${section.id}"]`).hidden = section.hidden;
  }
  const count = document.querySelectorAll(".request:not([hidden])").length;
  filter.querySelector("[role=status]").textContent = words.join("") ? `${count} requests` : "";
}

const filter = document.querySelector(".filter");
filter.hidden = false;
filter.addEventListener("input", narrow);
document.addEventListener("submit", send);
document.addEventListener("change", (event) => {
  if (event.target.className === "example") event.target.form.querySelector("textarea").value = event.target.value;
});
window.addEventListener("hashchange", openChosen);
openChosen();
