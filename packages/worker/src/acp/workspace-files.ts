// The client's file access, offered only if the config enables it. It ends at the workspace, links resolved; writes go
// through the gate, because an agent that writes through its client may not ask by itself.

import { readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';
import { RequestError, type ReadTextFileRequest, type WriteTextFileRequest } from '@agentclientprotocol/sdk';

export interface WorkspaceFiles {
  read(request: ReadTextFileRequest): { content: string };
  write(request: WriteTextFileRequest): Record<string, never>;
}

export function createWorkspaceFiles(workspace: string, isWritable: boolean): WorkspaceFiles {
  const root = realpathSync(workspace);
  const resolveInside = (path: string, isNew: boolean): string => {
    const real = isNew ? join(realpathSync(dirname(path)), basename(path)) : realpathSync(path);
    if (real !== root && !real.startsWith(root + sep))
      throw RequestError.invalidParams({ path }, `${path} is outside the workspace`);
    return real;
  };
  return {
    read: ({ path, line, limit }) => {
      const text = readFileSync(resolveInside(path, false), 'utf8');
      if (line === undefined && limit === undefined) return { content: text };
      const from = Math.max(0, (line ?? 1) - 1);
      const lines = text.split('\n').slice(from, limit == null ? undefined : from + limit);
      return { content: lines.join('\n') };
    },
    write: ({ path, content }) => {
      if (!isWritable) throw RequestError.invalidRequest({ path }, 'the workspace is read-only in this mode');
      const target = resolveInside(path, true);
      writeFileSync(resolveExisting(target, resolveInside), content);
      return {};
    },
  };
}

/** A link at the end of the path is followed before it is written through. */
function resolveExisting(target: string, resolveInside: (path: string, isNew: boolean) => string): string {
  try {
    return resolveInside(target, false);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return target;
    throw error;
  }
}
