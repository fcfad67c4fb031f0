// Keeps the page true: asks for it again, and shows its present state in place of the older one.
"use strict";

const PAUSE_MILLISECONDS = 2000;

function show(sentence) {
  const place = document.querySelector("#now .sentence");
  place.textContent = sentence;
  place.className = "sentence unwell";
}

async function refresh() {
  if (document.visibilityState !== "visible") return;
  try {
    const answer = await fetch("/", { cache: "no-store" });
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const now = page.getElementById("now");
    const old = document.getElementById("now");
    if (!now) show("The node answers, but not with this page.");
    else if (now.innerHTML !== old.innerHTML) {
      // Whoever has reached a link by the keyboard stays there.
      const chosen = [...old.querySelectorAll("a")].indexOf(document.activeElement);
      old.replaceWith(now);
      if (chosen >= 0) now.querySelectorAll("a")[chosen]?.focus({ preventScroll: true });
    }
  } catch {
    show("The node does not answer. This page asks again and again.");
  }
}

async function keepRefreshing() {
  await refresh();
  setTimeout(keepRefreshing, PAUSE_MILLISECONDS);
}

setTimeout(keepRefreshing, PAUSE_MILLISECONDS);
