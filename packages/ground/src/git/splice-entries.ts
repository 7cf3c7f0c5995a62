/** Index entries of a folder as `update-index --index-info` takes them: moved below `path`, in place of its link. */
export function spliceEntries(path: Buffer, entries: Buffer, like: string): Buffer {
  const where = path.toString('latin1');
  const removed = Buffer.from(`0 ${'0'.repeat(like.length)}\t${where}\0`, 'latin1');
  const moved = entries
    .toString('latin1')
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => {
      const at = entry.indexOf('\t');
      const name = `${where}/${entry.slice(at + 1)}`;
      return `${entry.slice(0, at)}\t${name}\0`;
    });
  return Buffer.concat([removed, Buffer.from(moved.join(''), 'latin1')]);
}
