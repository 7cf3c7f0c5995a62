// Starts a sandbox and holds it. The test kills this process at some moment of the start.
import { launchSandbox, MARKER_NAME } from '@caisson/ground';
import { createCell, removeCell } from './run-inside.ts';

const cell = createCell();
removeCell(cell);
const [, , marker = '', bwrapPath] = process.argv;
process.stdout.write('starting\n');
await launchSandbox(
  {
    ...cell.spec,
    workspace: null,
    cwd: '/',
    argv: ['sleep', '1000'],
    env: { ...cell.spec.env, [MARKER_NAME]: marker },
  },
  { bwrapPath },
);
process.stdout.write('running\n');
await new Promise((resolve) => setTimeout(resolve, 1_000_000));
