// The colours that were chosen in the menu, before the page is drawn in others. Alpine takes over from here.
(() => {
  const chosen = (localStorage.getItem("adminTheme") || "").replaceAll('"', "");
  const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  const name = dark ? "dark" : "light";
  document.documentElement.classList.add(name);
  document.addEventListener("alpine:init", () => document.documentElement.classList.remove(name));
})();

// The menu is long: the current table is shown.
addEventListener("DOMContentLoaded", () => {
  document.querySelector(".menu details a[aria-current]")?.scrollIntoView({ block: "nearest" });
});
