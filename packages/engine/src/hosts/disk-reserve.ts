/**
 * Space that a host sets aside while the disk has some (H3). It is given back in parts: the first for the note that a run
 * waits for space, the other for its ending.
 */
import { statfsSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { removeFileSync } from '@caisson/ground';

const PARTS = ['a', 'b'] as const;
const PART_BYTES = 256 * 1024;
/** Reserves nothing on a disk that is nearly full: others need that space more. */
const LEFT_TO_OTHERS_BYTES = 4 * PARTS.length * PART_BYTES;

/** Best effort: without it a run waits for space, as it does when the reserve is used up. */
export function setAside(folder: string, hostId: string): void {
  try {
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize < LEFT_TO_OTHERS_BYTES) return;
    for (const part of PARTS)
      writeFileSync(partFile(folder, hostId, part), Buffer.alloc(PART_BYTES), { mode: 0o600 });
  } catch {
    giveBack(folder, hostId);
  }
}

/** Frees one part; false when there is none left. */
export function givePartBack(folder: string, hostId: string): boolean {
  return PARTS.some((part) => {
    try {
      unlinkSync(partFile(folder, hostId, part));
      return true;
    } catch {
      return false;
    }
  });
}

export function giveBack(folder: string, hostId: string): void {
  for (const part of PARTS) removeFileSync(partFile(folder, hostId, part));
}

function partFile(folder: string, hostId: string, part: (typeof PARTS)[number]): string {
  return join(folder, `${hostId}.reserve-${part}`);
}
