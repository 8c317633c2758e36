/** Offsets of the API count code points; JavaScript strings count UTF-16 units. */

/** The part of a text from one code point to another. */
export function slice(text: string, start: number, end: number): string {
  if (!/[\ud800-\udbff]/.test(text)) return text.slice(start, end);
  return Array.from(text).slice(start, end).join("");
}

/** A number as people read it: 1,669. */
export function count(n: number): string {
  return n.toLocaleString(document.documentElement.lang || "en");
}

/** A message that begins and ends as a sentence does. */
export function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?。！？:：]$/.test(first) ? first : `${first}.`;
}
