// Asks how far the work has come and says so on the page. Without it, the page reloads itself every two seconds.
"use strict";

const place = document.querySelector("[data-progress]");
const badge = document.querySelector("[data-badge]");
const REST = 600;

function showStages(stages) {
  const names = stages.map((stage) => stage.name).join();
  const shown = [...place.querySelectorAll("[data-stage]")];
  if (shown.map((item) => item.dataset.stage).join() !== names) {
    location.reload(); // the work took another way
    return;
  }
  stages.forEach((stage, index) => {
    shown[index].dataset.state = stage.state;
    shown[index].querySelector(".note").textContent = stage.note || stage.state;
  });
}

function showRows(now) {
  const bar = place.querySelector("progress");
  bar.value = now.done;
  bar.max = now.total;
  place.querySelector("[data-done]").textContent = now.done.toLocaleString("en");
}

async function look() {
  let rest = REST;
  try {
    const answer = await fetch(place.dataset.progress, { headers: { Accept: "application/json" } });
    if (!answer.ok) throw new Error(answer.status);
    const now = await answer.json();
    if (now.ended) {
      location.reload();
      return;
    }
    badge.textContent = now.state;
    badge.dataset.tone = now.tone;
    if (now.stages) showStages(now.stages);
    else showRows(now);
    const hint = document.querySelector(".hint");
    if (hint) hint.hidden = now.state !== "Queued";
  } catch {
    rest = 5 * REST; // the server may be restarting
  }
  setTimeout(look, rest);
}

if (place) setTimeout(look, REST);
