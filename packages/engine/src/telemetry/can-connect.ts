import { connect } from 'node:net';

/** As long as a connection to the other side of the world takes. */
const LIMIT_MS = 500;

/** Whether a server accepts connections there. */
export function canConnect(address: { readonly host: string; readonly port: number }): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address);
    const answer = (isThere: boolean) => (): void => {
      socket.destroy();
      resolve(isThere);
    };
    socket.once('connect', answer(true));
    socket.once('error', answer(false));
    socket.setTimeout(LIMIT_MS, answer(false));
  });
}
