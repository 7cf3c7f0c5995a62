/** Answers on the socket of a daemon: the routes of the project, and those about the daemon itself. */
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { join } from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { createApi, createAttachments, type ApiHost } from '../api/index.ts';
import {
  actOfControl,
  CONTROL_PATHS,
  createControlRoutes,
  createFaceRoutes,
  FACE_PATH,
  openDaemonSocket,
  type ControlRoutes,
  type DaemonControl,
  type DaemonSocket,
} from '../daemon/index.ts';
import type { Engine } from '../engine.ts';
import { createDaemonFace, type DaemonFace } from './daemon-face.ts';
import { createDaemonMcp, MCP_PATH } from './daemon-mcp.ts';
import { localActor, recordControl } from './record-act.ts';
import { clientOf, createSocketEntrance } from './socket-entrance.ts';

/** How long an answer that is under way may take once nothing else is left to do. */
const LAST_ANSWERS_MS = 1000;

export interface DaemonServer {
  readonly socket: DaemonSocket;
  readonly face: DaemonFace;
  /** Resolves when no connection is left. */
  stop(): Promise<void>;
}

export interface ServerRooms {
  readonly engine: Engine;
  readonly host: ApiHost;
  readonly control: DaemonControl;
  /** Whether this process may make the socket again. */
  isInPlace(): boolean;
  warn(message: string): void;
}

export async function openDaemonServer({
  engine,
  host,
  control,
  isInPlace,
  warn,
}: ServerRooms): Promise<DaemonServer> {
  const answerControl: RequestListener = toListener(createControlRoutes(control));
  const mcp = createDaemonMcp({ engine, host, version: () => control.status().version, warn });
  const face = createDaemonFace({ engine, host, mcp, answerControl, warn });
  const answerFace = toListener(createFaceRoutes(control));
  const entrance = createSocketEntrance(engine);
  const answerOthers = createApi(host, createAttachments(engine.clock), entrance);
  const answerOwn: RequestListener = (request, response) => {
    const act = actOfControl(request.method, pathOf(request));
    if (act === null) return answerControl(request, response);
    void recordControl(engine, clientOf(request), act, { isAlways: true }).then(() =>
      answerControl(request, response),
    );
  };
  const answerMcp: RequestListener = (request, response) =>
    mcp.answer(request, response, { owner: 'socket', scopes: ['admin'], actor: localActor() });
  const server = createServer((request, response) => {
    const path = pathOf(request);
    if (path === FACE_PATH) answerFace(request, response);
    else if (path === MCP_PATH) answerMcp(request, response);
    else if (CONTROL_PATHS.includes(path)) answerOwn(request, response);
    else answerOthers(request, response);
  });
  const connections = new Set<Socket>();
  const socket = await openDaemonSocket({
    folder: join(engine.config.stateDir, 'runtime'),
    accept(connection) {
      connections.add(connection);
      connection.once('close', () => connections.delete(connection));
      server.emit('connection', connection);
    },
    isInPlace,
    warn,
  });
  return {
    socket,
    face,
    async stop() {
      await socket.close();
      await mcp.stop();
      const closed = [...connections].map(untilClosed);
      const cancel = engine.clock.setTimer(LAST_ANSWERS_MS, () => {
        for (const connection of connections) connection.destroy();
      });
      server.closeIdleConnections();
      await Promise.all(closed);
      cancel();
    },
  };
}

function untilClosed(connection: Socket): Promise<unknown> {
  return new Promise((resolve) => connection.once('close', resolve));
}

function toListener({ fetch }: ControlRoutes): RequestListener {
  const answer = getRequestListener(fetch);
  return (request, response) => void answer(request, response);
}

function pathOf({ url }: IncomingMessage): string {
  return url?.split('?', 1)[0] ?? '';
}
