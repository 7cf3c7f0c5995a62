/** The work of the peers: the same answers as those of the senses. */
import { pathToFileURL } from 'node:url';
import workerpool from 'workerpool';

export function answer() {
  return [{ name: 'answer', payload: { value: 42 } }];
}

export function nothing() {
  return [];
}

// The program of a child of workerpool; tinypool imports the functions.
if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  workerpool.worker({ answer, nothing });
