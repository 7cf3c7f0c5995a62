/** The work of the peers: the same answer as that of the sense. */
import { pathToFileURL } from 'node:url';
import workerpool from 'workerpool';

export function answer() {
  return [{ name: 'answer', payload: { value: 42 } }];
}

// The program of a child of workerpool; tinypool imports the function.
if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href)
  workerpool.worker({ answer });
