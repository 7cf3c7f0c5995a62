/** The path as readable text, different for every file. */
export function showPath(path: Buffer): string {
  const text = path.toString('utf8');
  if (Buffer.from(text, 'utf8').equals(path)) return text;
  const escaped = path.toString('latin1').replace(/[\x00-\x1f"\\\x7f-\xff]/g, (char) => {
    const octal = char.charCodeAt(0).toString(8).padStart(3, '0');
    return `\\${octal}`;
  });
  return `"${escaped}"`;
}
