// Unpacks what rmaudit/report/page/token_explorer.py packed: texts, scores, ranks, and what a word is.

async function bytes(id) {
  const island = document.getElementById(`explorer-${id}`);
  return new Uint8Array(await inflated(island.textContent).arrayBuffer());
}

async function numbers(id, Type) {
  const planes = await bytes(id), width = Type.BYTES_PER_ELEMENT, n = planes.length / width;
  const raw = new Uint8Array(planes.length);
  for (let b = 0; b < width; b++) for (let i = 0; i < n; i++) raw[i * width + b] = planes[b * n + i];
  return new Type(raw.buffer);
}

const lines = async (id) => new TextDecoder().decode(await bytes(id));
const folded = (text) => text.toLowerCase().replaceAll("␣", " ");

async function unpacked(from) {
  const text = await lines(from.texts), ids = await numbers(from.ids, Int32Array);
  const words = await numbers(from.words, Uint32Array), counts = new Uint32Array(ids.length);
  const bits = await numbers(from.masked, Uint8Array), masks = new Map();
  const labels = (await lines(from.masks)).split("\n");
  for (let i = 0; i < ids.length; i++) {
    counts[words[i] = i - words[i]]++;
    if (bits[i >> 3] >> (7 - (i & 7)) & 1) masks.set(i, labels[masks.size]);
  }
  const flags = await numbers(from.flags, Uint8Array);
  return { ids, words, counts, masks, flags, texts: text.split("\n"), folded: folded(text).split("\n") };
}

async function column(from) {
  const levels = await numbers(from.levels, Uint32Array), sure = new Uint8Array(levels.length);
  const rows = await numbers(from.rows, Uint32Array), ends = await numbers(from.ends, Float32Array);
  const rounded = (level) => Math.max(from.low, Math.min((from.first + level - 1) * from.step, from.high));
  const scores = Float32Array.from(levels, (level) => level ? rounded(level) : NaN);
  rows.forEach((row, i) => { scores[row] = ends[i]; sure[row] = 1; });
  const down = ordered(scores, true), up = ordered(scores, false);
  const ranks = new Float32Array(scores.length).fill(NaN), near = new Uint8Array(scores.length);
  let scored = scores.length;
  while (scored && Number.isNaN(scores[down[scored - 1]])) scored--;
  for (let i = 0, j = 0; i < scored; i = j) {
    while (j < scored && scores[down[j]] === scores[down[i]]) j++;
    const vague = j - i > 1 && down.subarray(i, j).some((row) => !sure[row]);
    for (let k = i; k < j; k++) { ranks[down[k]] = (i + 1 + j) / 2; near[down[k]] = vague; }
  }
  return { ...from, scores, sure, ranks, near, down, up, scored };
}

// Rows by score, ties in the order of ids, unscored ones last: 32 bits of a float that sort as it
// does and 21 bits of its row make a whole number, and typed arrays sort numbers fast.
function ordered(scores, down) {
  const bits = new Uint32Array(Float32Array.from(scores, (score) => score + 0).buffer);
  const keys = Float64Array.from(bits, (b, row) => {
    const up = b >>> 31 ? ~b >>> 0 : (b | 0x80000000) >>> 0;
    return (Number.isNaN(scores[row]) ? 0xffffffff : down ? ~up >>> 0 : up) * PLACES + row;
  });
  return Uint32Array.from(keys.sort(), (key) => key % PLACES);
}

function once(cache, key, make) {
  if (!cache.has(key)) cache.set(key, make());
  return cache.get(key);
}
