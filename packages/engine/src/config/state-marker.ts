/**
 * How Caisson knows that it made a state folder: the folder has an id, and a marker with that id is outside of every
 * repository, `$XDG_STATE_HOME/caisson/states/<id>.json`, and names the folder. A repository, a patch or another user
 * can make a folder that looks like ours; none of them can write the marker.
 */
import { lstatSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { isPrivateFolder, ownUid, readSmallFileSync } from '@caisson/ground';
import * as z from 'zod/mini';

export const STATE_ID_FILE = 'id';

const MAX_MARKER_BYTES = 65_536;
const ID = /^[0-9a-f]{32}$/;
const Hex = z.string().check(z.regex(/^[0-9a-f]+$/));
const Digits = z.string().check(z.regex(/^\d+$/));

export const StateMarker = z.object({
  schemaVersion: z.literal(1),
  id: Hex,
  /** Where the folder was when it was last opened. */
  path: z.string(),
  dev: Digits,
  ino: Digits,
  /** Authenticates what we write into the folder. */
  secret: Hex,
  /** The ledger is older than the marker: the next process that opens it makes it ours. */
  adoptsLedger: z.optional(z.boolean()),
  /** The git index that was last seen to track nothing of the folder. */
  index: z.optional(z.string()),
});
export type StateMarker = z.infer<typeof StateMarker>;

/** Why a folder is not known: it has no id of ours, or the id belongs to another folder, of which it may be a copy. */
export type MarkedState =
  | { readonly kind: 'known'; readonly marker: StateMarker }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'copy'; readonly of: string };

export function markersFolder(userState: string): string {
  return join(userState, 'states');
}

/** Whether this user's Caisson made the folder. Follows no link, and changes nothing. */
export function readMarkedState(folder: string, userState: string): MarkedState {
  const id = readSmallFileSync(join(folder, STATE_ID_FILE), 64)?.text.trim() ?? '';
  const marker = ID.test(id) ? readMarker(userState, id) : null;
  const stats = lstatSync(folder, { bigint: true, throwIfNoEntry: false });
  if (marker === null || stats === undefined) return { kind: 'unknown' };
  // The number of a device may change with a restart; then the folder must still be where it was.
  const isSame = marker.ino === `${stats.ino}` && (marker.dev === `${stats.dev}` || marker.path === folder);
  return isSame ? { kind: 'known', marker } : { kind: 'copy', of: marker.path };
}

/** The state folders that this user's Caisson made, as far as it has markers. */
export function listMarkedStates(userState: string): string[] {
  const folder = markersFolder(userState);
  if (!isPrivateFolder(folder)) return [];
  return readdirSync(folder)
    .flatMap((file) => readMarker(userState, file.replace(/\.json$/, '')) ?? [])
    .map(({ path }) => path);
}

function readMarker(userState: string, id: string): StateMarker | null {
  if (!isPrivateFolder(markersFolder(userState))) return null;
  const file = readSmallFileSync(join(markersFolder(userState), `${id}.json`), MAX_MARKER_BYTES);
  if (file === null || file.uid !== ownUid() || (file.mode & 0o022) !== 0) return null;
  try {
    const marker = StateMarker.safeParse(JSON.parse(file.text));
    return marker.success && marker.data.id === id ? marker.data : null;
  } catch {
    return null;
  }
}
