// Tables of text, and pictures.

function makeTable(parent, data) {
  const box = element("section", data.wide ? "block table wide" : "block table"), frame = element("div", "scroll"), table = element("table");
  box.append(element("h2", "", data.title));
  const head = element("tr");
  for (const cell of data.header) head.append(element("th", "", cell));
  table.append(head);
  data.rows.forEach((row, i) => {
    const line = element("tr", { true: "good", false: "bad" }[data.good[i]]);
    for (const cell of row) line.append(element("td", "", cell));
    table.append(line);
  });
  frame.append(table);
  box.append(frame);
  if (data.note) box.append(element("p", "", data.note));
  parent.append(box);
  return { show() {} };
}

function makePicture(parent, data) {
  const box = element("section", "block picture"), image = element("img");
  box.append(element("h2", "", data.title));
  image.alt = data.title;
  image.src = `data:image/svg+xml;base64,${data.svg}`;
  const frame = element("div", "scroll");
  frame.append(image);
  box.append(frame);
  if (data.note) box.append(element("p", "", data.note));
  parent.append(box);
  return { show() {} };
}
