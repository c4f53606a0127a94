// Following a link into a closed part opens it; printing opens everything.
function reveal() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (let part = target; part; part = part.parentElement) {
    if (part.tagName === "DETAILS") part.open = true;
  }
  if (target) target.scrollIntoView();
}
addEventListener("hashchange", reveal);
addEventListener("DOMContentLoaded", reveal);
addEventListener("beforeprint", () => {
  for (const part of document.querySelectorAll("details:not(.drawing)")) part.open = true;
});
