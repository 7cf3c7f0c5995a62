import { findRefusal, type DispatchRequest } from '@caisson/engine';
import { canAsk, confirmOnTerminal } from './ask-on-terminal.ts';
import type { Output } from './output.ts';
import type { WhileAsking } from './watch-run.ts';

/** A task that lacks only a key: the person at the terminal is asked whether their log-in is used, now and later. */
export async function orWithLogin<T>(
  request: DispatchRequest,
  output: Output,
  dispatch: (request: DispatchRequest) => Promise<T>,
  whileAsking: WhileAsking = (ask) => ask(),
): Promise<T> {
  try {
    return await dispatch(request);
  } catch (error) {
    const offer = findRefusal(error)?.offersLogin;
    if (offer === undefined || !canAsk(output)) throw error;
    const { runtime, path } = offer;
    output.note(
      `${runtime} has no key here, and you are logged in (${path}). The agent would get that log-in and can read its token. Your choice is remembered.`,
    );
    const ask = () => confirmOnTerminal(output, `Use your log-in with ${runtime}?`);
    if (!(await whileAsking(ask))) throw error;
    return dispatch({ ...request, login: true });
  }
}
