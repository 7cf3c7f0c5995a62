/** How many calls and tasks of one session may be under way: each may wait for minutes. */
import type { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';

const MAX_CALLS = 64;
/** Tasks whose calls go on. */
const MAX_TASKS = 16;
/** Beside them, those whose results are kept until they expire. */
const MAX_KEPT_TASKS = 128;

interface Counted {
  over(): void;
}

/** Each counts one until `over`, or throws McpError where there are as many as there may be. */
export interface CallLimits {
  countCall(): Counted;
  countTask(): Counted;
}

export function createCallLimits(tasks: Pick<InMemoryTaskStore, 'getAllTasks'>): CallLimits {
  let calls = 0;
  let underWay = 0;
  return {
    countCall() {
      if (calls >= MAX_CALLS)
        throw new McpError(
          ErrorCode.InvalidRequest,
          `this session has ${calls} calls under way, and that is the limit: wait for one of them, or cancel one`,
        );
      calls += 1;
      return { over: () => void (calls -= 1) };
    },
    countTask() {
      if (underWay >= MAX_TASKS || tasks.getAllTasks().length >= MAX_KEPT_TASKS)
        throw new McpError(
          ErrorCode.InvalidRequest,
          `this session has ${underWay} tasks under way, and the limit is ${MAX_TASKS}, or ${MAX_KEPT_TASKS} with those that have not expired: cancel one, or call without a task`,
        );
      underWay += 1;
      return { over: () => void (underWay -= 1) };
    },
  };
}
