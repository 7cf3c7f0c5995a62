const MAX_CHARACTERS = 4000;
/** Frames of Node.js and of this program, which is one file once it is built: they tell a user nothing. */
const OWN_FRAMES = ['node:internal/', import.meta.filename];

/** What was thrown, as text, whatever it is. */
export function describeThrown(thrown: unknown): string {
  try {
    const text = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    return withoutOwnFrames(String(text)).slice(0, MAX_CHARACTERS);
  } catch {
    return 'a value that has no text'; // its toString throws
  }
}

function withoutOwnFrames(text: string): string {
  return text
    .split('\n')
    .filter((line) => !/^\s+at /.test(line) || OWN_FRAMES.every((own) => !line.includes(own)))
    .join('\n');
}
