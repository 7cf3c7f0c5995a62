/** What an agent that attacks the page writes, and the marks by which a test would see that it worked. */
export const EVIL_TASK = 'tidy <img src=x onerror=alert(1)> up \u202etxt.exe';
export const EVIL_FILE = '<img src=x onerror=alert(2)>.txt';
export const EVIL_REPLY = '<script>alert(3)</script><a href="javascript:alert(4)">Done.</a>';
/** Markup, another direction of writing, a colour, an invisible letter and a second line, where a person decides. */
export const EVIL_WORDS = '<script>alert(7)</script>\u202e\u001b[31m\u00ad\u{e0041}';
export const SEEN_WORDS = '<script>alert(7)</script>\\u202e\\u001b[31m\\u00ad\\u{e0041}';
export const EVIL_CALL_TASK = 'sweep the house';
export const EVIL_ASK_TASK = 'ask about the house';
export const MANY_FILES = 10_000;
export const LOG_BYTES = 50_000_000;

/** Colours without end, moves of the cursor, titles, links, a clipboard, and a line that never ends. */
const BOMB = [
  String.raw`printf '\033[31m%.0s' $(seq 20000); printf 'bomb\n'`,
  String.raw`printf '\033]0;title\007\033]8;;javascript:alert(5)\007link\033]8;;\007\033]52;c;ZXZpbA==\007\033[2J\033[999999;999999H\n'`,
  String.raw`printf '<script>alert(6)</script>\n'`,
  `head -c 3000000 /dev/zero | tr '\\0' x; echo`,
].join('; ');

/** A command that prints 50 MB and changes ten thousand files. */
export const FLOOD = [
  BOMB,
  `yes 'a line of a log that is far too long for a page' | head -c ${LOG_BYTES}`,
  `echo; echo the last line`,
  `mkdir many; cd many; seq -f 'file-%05g.txt' ${MANY_FILES} | while read -r f; do echo new > "$f"; done`,
].join('; ');

const usage = { inputTokens: 10, outputTokens: 4 };

export const HOSTILE_SCRIPTS = [
  {
    when: 'tidy <img',
    turns: [
      {
        say: EVIL_REPLY,
        tool: { intent: 'write-file' as const, path: EVIL_FILE, content: '<b>\u202e\n' },
        usage,
      },
      { say: EVIL_REPLY, usage },
    ],
  },
  {
    when: EVIL_CALL_TASK,
    turns: [
      { tool: { intent: 'run-command' as const, command: `rm -rf sweep # ${EVIL_WORDS}` }, usage },
      { say: 'It was not allowed.', usage },
    ],
  },
  {
    when: EVIL_ASK_TASK,
    turns: [
      {
        tool: {
          intent: 'write-file' as const,
          path: '.caisson/needs_input.json',
          content: JSON.stringify({ question: `Which? ${EVIL_WORDS}`, options: [`yes ${EVIL_WORDS}`, 'no'] }),
        },
        usage,
      },
      { say: 'I wait.', usage },
    ],
  },
];
