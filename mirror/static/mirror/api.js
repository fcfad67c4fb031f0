// Sends the requests of the page's forms to this node, and shows the answers.
"use strict";

const MOST_SHOWN = 100000;

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
    shown.textContent = /\d{16}/.test(text.replace(/"[^"]*"/g, "")) ? text : readable(text);
  } catch {
    status.textContent = "The node does not answer.";
  }
}

function openChosen() {
  const chosen = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (chosen instanceof HTMLDetailsElement) chosen.open = true;
}

document.addEventListener("submit", send);
document.addEventListener("change", (event) => {
  if (event.target.className === "example") event.target.form.querySelector("textarea").value = event.target.value;
});
window.addEventListener("hashchange", openChosen);
openChosen();
