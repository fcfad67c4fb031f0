// The colours that were chosen in the menu, before the page is drawn in others; Alpine keeps them up to date.
(() => {
  const chosen = (localStorage.getItem("adminTheme") || "").replaceAll('"', "");
  const dark = chosen === "dark" || (chosen !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.classList.add(dark ? "dark" : "light");
})();
