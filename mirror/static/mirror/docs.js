// Gives each block of code a button that copies it.
"use strict";

const SHOWN_MILLISECONDS = 2000;

async function copy(event) {
  const button = event.target;
  try {
    await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
    button.textContent = "Copied";
  } catch {
    button.textContent = "Not allowed";
  }
  setTimeout(() => (button.textContent = "Copy"), SHOWN_MILLISECONDS);
}

// Browsers allow it for pages by HTTPS, and on the node's own machine.
if (navigator.clipboard) {
  for (const button of document.querySelectorAll(".code button")) {
    button.hidden = false;
    button.addEventListener("click", copy);
  }
}
