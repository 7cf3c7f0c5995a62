/** Follows whole stores of data, a database or a working folder, to a program that sends them to an address. */
import type { Call } from './inspector.ts';
import { normalizePath } from './path-kind.ts';
import { marksOfFile, OWN_SERVER, READS_CONTENT, UPLOADS } from './secret-flow.ts';
import { STORE } from './unknown-text.ts';

/** Whether a program's output is a whole store of data. */
export function emitsStore({ name, args, stdin, scope, inspector }: Call): boolean {
  if (stdin?.includes(STORE) === true) return true;
  if (
    inspector.files.hasMarks &&
    READS_CONTENT.has(name) &&
    args.some((arg) => inspector.files.marksOf(arg).includes(STORE))
  )
    return true;
  if (!EMITS.has(name)) return false;
  if (DUMPS.test(name)) return true;
  if (RUNS_THERE.test(name)) return args.some((arg) => DUMPS_IN_TEXT.test(arg));
  if (/^(g?tar|bsdtar|zip)$/.test(name))
    return args.some((arg) => !arg.startsWith('-') && isWholeFolder(arg, scope));
  if (name === 'git') return /^(archive|bundle)$/.test(args[0] ?? '');
  if (/^(sqlite3|duckdb)$/.test(name)) return args.some((arg) => /^\.(dump|backup)\b/.test(arg.trim()));
  if (/^(psql|mysql)$/.test(name)) return /\bcopy\b[\s\S]*\bto\s+(?:stdout\b|')/i.test(args.join(' '));
  return name === 'redis-cli' && args.includes('--rdb');
}

/** The programs that the checks below are about; most lines name none of them. */
const EMITS = new Set(
  'pg_dump pg_dumpall pg_basebackup mysqldump mariadb-dump mongodump mongoexport cockroach-dump mydumper docker podman nerdctl docker-compose kubectl oc ssh sudo doas env nice time timeout heroku fly flyctl tar gtar bsdtar zip git sqlite3 duckdb psql mysql redis-cli'.split(
    ' ',
  ),
);
const DUMPS =
  /^(pg_dump|pg_dumpall|pg_basebackup|mysqldump|mariadb-dump|mongodump|mongoexport|cockroach-dump|mydumper)$/;
const DUMPS_IN_TEXT =
  /(?:^|[\s/;&|])(?:pg_dump(?:all)?|mysqldump|mariadb-dump|mongodump|mongoexport)(?:\s|$)/;
const RUNS_THERE =
  /^(docker|podman|nerdctl|docker-compose|kubectl|oc|ssh|sudo|doas|env|nice|time|timeout|heroku|fly|flyctl)$/;

/** The working folder, the home, a folder right below it, or what belongs to the machine. */
function isWholeFolder(path: string, scope: Call['scope']): boolean {
  if (!/^[~/.]/.test(path) && !scope.cwd.startsWith('~')) return false;
  return /^(\.|~(\/[^/.]+)?|\/|\/(home|etc|root|var)(\/.*)?)$/.test(normalizePath(path, scope));
}

/** Marks the files that such a program, or a packer, writes. */
export function markWritten({ name, args, inspector }: Call, marks: string): void {
  const written = args.filter(
    (arg, index) =>
      /^(-f|--file|-o|--output|--out|--archive|--result-file|-r|--rdb)$/.test(args[index - 1] ?? '') ||
      (/^-?[a-zA-Z]*c[a-zA-Z]*f$/.test(args[index - 1] ?? '') && /^(g|bsd)?tar$/.test(name)) ||
      (name === 'zip' && /\.zip$/.test(arg)),
  );
  const inline = args.flatMap(
    (arg) =>
      /^--(?:file|output|out|archive|result-file)=(.+)$/.exec(arg)?.[1] ??
      /(?:\bto\s+|^\.(?:backup|save)\s+)'?([^\s']+)/i.exec(arg)?.[1] ??
      [],
  );
  for (const file of [...written, ...inline]) inspector.files.mark(file, marks);
}

/** Programs that send their input to any address. */
const HANDS_OVER = new Set(
  'curl wget http https xh curlie nc ncat netcat socat telnet websocat wscat croc wormhole pastebinit ntfy'.split(
    ' ',
  ),
);

/** Whether this command sends such a store to an address; a copy to the user's own bucket or host is a backup. */
export function sendsStore({ name, args, stdin, inspector }: Call): boolean {
  if (!HANDS_OVER.has(name) || args.some((arg) => OWN_SERVER.test(arg))) return false;
  if (stdin?.includes(STORE) === true) return true;
  return args.some((arg, index) => {
    const file =
      /^(?:(?:--?[\w-]+=)?[\w-]*=?)?[@<]([^;]+)/.exec(arg)?.[1] ??
      (UPLOADS.test(args[index - 1] ?? '') ? arg : undefined);
    return arg.includes(STORE) || (file !== undefined && marksOfFile(file, inspector.files).includes(STORE));
  });
}
