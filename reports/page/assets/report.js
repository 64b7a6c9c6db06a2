"use strict";
(() => {
  const root = document.documentElement;
  root.classList.add("script");
  const tip = document.getElementById("tip");
  const said = document.getElementById("said");

  // As the evidence writes moments: 15.605s, 1m10s.
  const moment = (ms) => {
    const minutes = Math.floor(ms / 60000);
    return (minutes ? minutes + "m" : "") + +((ms - minutes * 60000) / 1000).toFixed(3) + "s";
  };
  const brief = (us) => us < 1000 ? us + " µs" : us < 1e6 ? +(us / 1000).toPrecision(3) + " ms" : +(us / 1e6).toPrecision(3) + " s";
  const at = (spans, t) => spans.find((s) => s.f <= t && t < s.t);
  const element = (name, text) => {
    const e = document.createElement(name);
    if (text !== undefined) e.textContent = text;
    return e;
  };

  // What was at instant t, in words.
  function headline(data, t) {
    const parts = [moment(t)];
    const phase = at(data.phases, t);
    if (phase) parts.push(phase.n);
    for (const fault of data.faults) {
      const span = at(fault.s, t);
      if (span) parts.push(fault.n + " " + span.n);
    }
    return parts.join(" · ");
  }

  function podCounts(data, t) {
    const counts = new Map();
    for (const pod of data.pods) {
      const span = pod.w && at(pod.s, t);
      if (!span) continue;
      const name = pod.w;
      if (!counts.has(name)) counts.set(name, new Map());
      const states = counts.get(name);
      states.set(span.n, (states.get(span.n) || 0) + 1);
    }
    return [...counts].map(([name, states]) => name + ": " + [...states].map(([s, n]) => n + " " + s).join(", "));
  }

  function laneRows(data, t) {
    if (!data.width) return [];
    const i = Math.floor((t - data.from) / data.width);
    return data.lanes.filter((l) => i < l.ok.length).map((l) => {
      const bad = l.bad[i] || 0, unsent = l.un[i] || 0, ok = l.ok[i];
      return { name: l.n, sent: ok + bad, bad, unsent, ok, p50: l.p50[i], p99: l.p99[i], max: l.max[i] };
    });
  }

  function words(data, t) {
    const lanes = laneRows(data, t).map((r) =>
      r.name + ": " + r.sent + " requests, " + r.bad + " failed" + (r.unsent ? ", " + r.unsent + " never sent" : "") +
      (r.ok ? ", p99 " + brief(r.p99) : ""));
    return [headline(data, t), ...lanes, ...podCounts(data, t)].join("; ");
  }

  function fill(data, t, about) {
    tip.replaceChildren();
    if (about) tip.append(element("p", about));
    const head = element("p");
    head.append(element("strong", headline(data, t)));
    tip.append(head);
    const rows = laneRows(data, t);
    if (rows.length) {
      const table = element("table");
      const top = table.insertRow();
      for (const name of ["in " + data.width + " ms", "sent", "failed", "p50", "p99", "max"]) top.append(element("th", name));
      for (const r of rows) {
        const row = table.insertRow();
        row.append(element("th", r.name), element("td", r.sent + (r.unsent ? " (" + r.unsent + " not)" : "")));
        const bad = element("td", r.bad);
        if (r.bad) bad.className = "some";
        row.append(bad);
        for (const q of [r.p50, r.p99, r.max]) row.append(element("td", r.ok ? brief(q) : "–"));
      }
      tip.append(table);
    }
    for (const line of podCounts(data, t)) tip.append(element("p", line));
  }

  // Beside the cursor, on the side that has room.
  function place(plot, x, top) {
    tip.hidden = false;
    const box = plot.getBoundingClientRect();
    const room = root.clientWidth - tip.offsetWidth - 8;
    const left = x < box.left + 0.55 * box.width ? x + 16 : x - tip.offsetWidth - 16;
    tip.style.left = Math.max(8, Math.min(left, room)) + window.scrollX + "px";
    tip.style.top = top + window.scrollY + "px";
  }

  function wire(plot) {
    const data = JSON.parse(plot.querySelector("script").textContent);
    const scrub = plot.querySelector(".scrub");
    const pan = plot.querySelector(".pan"), field = plot.querySelector(".field");
    const cursor = plot.querySelector(".cursor");
    const span = data.to - data.from;
    const step = data.width || Math.max(1, Math.round(span / 200));
    let now = data.from;
    let zoom = 1;

    function show(t, top, about) {
      now = Math.max(data.from, Math.min(t, data.to - 1));
      const share = (now - data.from) / span;
      cursor.setAttribute("x1", share * 100 + "%");
      cursor.setAttribute("x2", share * 100 + "%");
      cursor.setAttribute("visibility", "visible");
      scrub.setAttribute("aria-valuenow", now);
      fill(data, now, about);
      const box = field.getBoundingClientRect();
      place(plot, box.left + share * box.width, top);
    }
    // The moment at a share of the field stays where it is on the screen.
    function zoomBy(by, share) {
      const width = pan.clientWidth, before = share * width * zoom - pan.scrollLeft;
      zoom = Math.max(1, Math.min(zoom * by, 64));
      field.style.width = zoom * 100 + "%";
      if (zoom > 1) plot.dataset.zoom = zoom;
      else delete plot.dataset.zoom;
      pan.scrollLeft = share * width * zoom - before;
      said.textContent = "Zoom " + zoom;
    }
    // The cursor's moment, or the middle of what is shown.
    function centre() {
      if (!tip.hidden || zoom === 1 && now > data.from) return (now - data.from) / span;
      return (pan.scrollLeft + pan.clientWidth / 2) / (pan.clientWidth * zoom);
    }
    // A moment that was reached by keys is scrolled into view.
    function follow() {
      const x = (now - data.from) / span * pan.clientWidth * zoom;
      if (x < pan.scrollLeft || x > pan.scrollLeft + pan.clientWidth) pan.scrollLeft = x - pan.clientWidth / 2;
    }
    function sift(text) {
      const hidden = (name) => text !== "" && !name.toLowerCase().includes(text);
      for (const node of plot.querySelectorAll(".node[data-name]")) {
        const whole = !hidden(node.dataset.name);
        for (const pod of node.querySelectorAll(".pod")) pod.classList.toggle("dim", !whole && hidden(pod.dataset.tip));
      }
      for (const chart of plot.querySelectorAll(".chart")) chart.classList.toggle("dim", hidden(chart.dataset.name));
    }
    function hide() {
      tip.hidden = true;
      cursor.setAttribute("visibility", "hidden");
    }
    function point(event) {
      const box = field.getBoundingClientRect(), view = pan.getBoundingClientRect();
      const share = (event.clientX - box.left) / box.width;
      if (event.clientX < view.left || event.clientX > view.right) return hide();
      const over = event.target.closest("[data-tip]");
      show(data.from + share * span, event.clientY + 18, over && over.dataset.tip);
    }
    plot.addEventListener("pointermove", point);
    plot.addEventListener("pointerdown", point);
    plot.addEventListener("pointerleave", hide);
    scrub.addEventListener("blur", hide);
    const moves = {
      ArrowRight: () => now + step, ArrowUp: () => now + step, ArrowLeft: () => now - step, ArrowDown: () => now - step,
      PageUp: () => now + span / 10, PageDown: () => now - span / 10, Home: () => data.from, End: () => data.to,
    };
    scrub.addEventListener("keydown", (event) => {
      if (event.key === "Escape") return hide();
      if (event.key === "+" || event.key === "-") return zoomBy(event.key === "+" ? 2 : 0.5, (now - data.from) / span);
      const move = moves[event.key];
      if (!move) return;
      event.preventDefault();
      const visible = Math.max(plot.getBoundingClientRect().top, 0);
      show(move(), visible + 30);
      follow();
      scrub.setAttribute("aria-valuetext", words(data, now));
    });
    const figure = plot.closest("figure");
    for (const button of figure.querySelectorAll(".zoom")) button.addEventListener("click", () => zoomBy(+button.dataset.by, centre()));
    figure.querySelector(".sift").addEventListener("input", (event) => sift(event.target.value.trim().toLowerCase()));
    plot.dataset.ready = "true";
  }

  // The clipboard is not offered to every page opened from a file.
  async function copy(button) {
    const code = button.parentElement.querySelector("code");
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      const range = document.createRange();
      range.selectNodeContents(code);
      const selection = window.getSelection();
      selection.removeAllRanges();
      selection.addRange(range);
      document.execCommand("copy");
    }
    button.textContent = "Copied";
    said.textContent = "Command copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1600);
  }

  function filter(only) {
    let shown = 0;
    for (const e of document.querySelectorAll("[data-good]")) {
      e.hidden = only === "bad" && e.dataset.good === "true";
      if (e.matches(".scenario") && !e.hidden) shown++;
    }
    for (const body of document.querySelectorAll(".overview tbody")) {
      body.hidden = !body.querySelector("tr[data-good]:not([hidden])");
    }
    document.getElementById("nothing").hidden = shown > 0 || only !== "bad";
    said.textContent = shown + " scenarios shown";
  }

  for (const plot of document.querySelectorAll(".plot")) wire(plot);
  for (const button of document.querySelectorAll(".copy")) button.addEventListener("click", () => copy(button));
  for (const input of document.querySelectorAll(".filter input")) input.addEventListener("change", () => filter(input.value));
  // A link to a scenario that the filter hides shows it.
  window.addEventListener("hashchange", () => {
    const to = document.getElementById(location.hash.slice(1));
    if (!to || !to.hidden) return;
    document.querySelector(".filter input[value=all]").checked = true;
    filter("all");
    to.scrollIntoView();
  });
  window.addEventListener("beforeprint", () => {
    for (const d of document.querySelectorAll("details")) d.open = true;
  });
})();
