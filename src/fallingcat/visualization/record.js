// A button that records the first scene while it plays, by the browser's own encoder.

function recording(button, canvas, state, name) {
  const kinds = ["video/mp4;codecs=avc1.42E01F", "video/mp4", "video/webm"];
  const kind = typeof MediaRecorder === "function" && canvas?.captureStream && kinds.find((one) => MediaRecorder.isTypeSupported(one));
  if (!kind) return;
  button.hidden = false;
  let recorder = null;
  const save = (parts) => {
    const link = element("a"), suffix = kind.includes("mp4") ? "mp4" : "webm";
    link.href = URL.createObjectURL(new Blob(parts, { type: kind }));
    link.download = `${name.replace(/[^\w-]+/g, "_").slice(0, 80) || "run"}.${suffix}`;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  button.addEventListener("click", () => {
    if (recorder) { recorder.stop(); return; }
    const parts = [];
    recorder = new MediaRecorder(canvas.captureStream(60), { mimeType: kind, videoBitsPerSecond: 8e6 });
    recorder.addEventListener("dataavailable", (e) => parts.push(e.data));
    recorder.addEventListener("stop", () => { recorder = null; button.classList.remove("on"); save(parts); });
    recorder.start();
    button.classList.add("on");
    state.start(() => recorder?.stop()); // from the first picture to the last
  });
}
