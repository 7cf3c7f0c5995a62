/** Code that uses memory, disk or processes without end. */

const AT_ONCE =
  /\b(?:loop|for|until|while)\b[^;\n]{0,40}[{(\s;]fork\b|['"\])]\s*\*\s*\(?(?:10\s*\*\*\s*(?:9|[1-9]\d)|1024\s*\*\*\s*[3-9]|2\s*\*\*\s*[3-9]\d)\b|while\s*(?:\(?\s*(?:True|1|true)\s*\)?)[\s\S]{0,20}(?:fork|spawn)\b|\bfork\s+while\b|\bpush\s*\(?\s*@[^;]{1,80}\bwhile\s+1\b|\b(?:bytearray|range|Array|alloc(?:Unsafe)?|str_repeat|malloc)\s*\([^()]{0,60}(?:10\s*\*\*\s*1\d|1e1\d|1024\s*\*\*\s*[4-9]|\d{12,})/;
const ENDLESS =
  /\bwhile\s*\(?\s*(?:True|1|true|!0|not\s+False)\s*\)?\s*(?::|\{|do\b|;|\n|[a-z])|\bfor\s*\(\s*;\s*;\s*\)|\bloop\s*(?:do\b|\{)|\buntil\s+(?:false|0)\b|\bitertools\.(?:count|repeat|cycle)\(/g;
/** Each turn leaves something behind. */
const GROWS =
  /\.(?:append|extend|push|unshift|concat|add|write(?:FileSync|Sync)?)\s*\(|\bappendFileSync\s*\(|<<|(?:\+|\*|\.)=|\bpush\s*[@(]|\[\w*(?:\+\+)?\]\s*=|\b(?:bytearray|alloc(?:Unsafe)?|malloc|Popen|fork|Thread|Process|Worker|mmap|spawn)\s*\(|\b[a-z_]\w*\s*=\s*([a-z_]\w*)\s*[+*]\s*(?:\1|2)\b/;
/** It waits, listens or may end: an ordinary loop, not one that exhausts the machine. */
const ENDS =
  /\b(?:break|sleep\w*|return|exit|recv\w*|accept|readline|read|input|yield|await|last|wait|select|poll|setTimeout|raise|throw|stdin|get|next|join|die)\b/;
const REACH = 300;

export function codeExhausts(text: string): boolean {
  if (!/while|for|loop|until|\*\*|repeat|count|cycle|alloc|Array|range/.test(text)) return false;
  if (AT_ONCE.test(text)) return true;
  for (const { index } of text.matchAll(ENDLESS)) {
    const body = text.slice(index, index + REACH);
    if (GROWS.test(body) && !ENDS.test(body)) return true;
  }
  return false;
}
