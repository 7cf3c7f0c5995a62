import { NO_ATTEMPT } from '../ledger/index.ts';
import type { DispatchRequest, Refusal } from './contract.ts';
import type { DispatchRooms } from './rooms.ts';
import { describeTask } from './describe-task.ts';
import { TaskRefusedError } from './errors.ts';

const MAX_TASK_CHARACTERS = 1000;

/** Records that there is no run, and why; returns the error to throw. */
export async function refuseTask(
  rooms: Pick<DispatchRooms, 'recorder'>,
  request: DispatchRequest,
  refused: TaskRefusedError | Refusal,
  trace = '',
): Promise<TaskRefusedError> {
  const error = refused instanceof TaskRefusedError ? refused : new TaskRefusedError(refused);
  const { check, detail } = error.refusal;
  const task = describeTask(request).slice(0, MAX_TASK_CHARACTERS);
  await rooms.recorder.of(null, trace).append('task.refused', { check, detail, task }, NO_ATTEMPT);
  return error;
}
