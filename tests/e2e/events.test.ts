/** `caisson events`: the whole project for programs, in two formats, with a cursor. */
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HTTP, type CloudEvent } from 'cloudevents';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createProject, finish, parseLines, ROOT, until, type Project } from './project.ts';

const LIMIT_MS = 60_000;

async function read(project: Project, ...options: string[]): Promise<Record<string, unknown>[]> {
  const { code, stdout, stderr } = await project.caisson('events', ...options);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return parseLines(stdout);
}

describe('caisson events', { timeout: LIMIT_MS }, () => {
  it('prints what is recorded, of all runs, and continues behind an offset', async () => {
    const project = createProject();
    expect(await read(project)).toEqual([]);
    const first = await project.run('--', 'true');
    const second = await project.run('--', 'false');
    const all = await read(project);
    expect(all.map(({ offset }) => offset)).toEqual(all.map((_, index) => index + 1));
    expect(new Set(all.map(({ runId }) => runId))).toEqual(new Set([first.runId, second.runId]));
    expect(await read(project, '--run', first.runId)).toEqual(await project.events(first.runId));
    expect(await read(project, '--after', '7')).toEqual(all.slice(7));
    const ends = await read(project, '--type', 'dispatch.finished', '--type', 'dispatch.failed');
    expect(ends.map(({ runId, type }) => [runId, type])).toEqual([
      [first.runId, 'dispatch.finished'],
      [second.runId, 'dispatch.failed'],
    ]);
    expect((await project.caisson('up', '-d')).code).toBe(0);
    expect((await read(project)).slice(0, all.length)).toEqual(all);
    expect((await project.caisson('down')).code).toBe(0);
  });

  it('every line is a CloudEvent by the rules of another library, with the same id each time', async () => {
    const project = createProject();
    const { runId } = await project.run('--', 'true');
    const lines = await read(project, '--format', 'cloudevents');
    const plain = await read(project);
    expect(lines.length).toBe(plain.length);
    for (const [index, line] of lines.entries()) {
      const headers = { 'content-type': 'application/cloudevents+json' };
      const event = HTTP.toEvent({ headers, body: JSON.stringify(line) }) as CloudEvent<{ offset: number }>;
      expect(event.validate()).toBe(true);
      expect(event).toMatchObject({
        specversion: '1.0',
        subject: runId,
        datacontenttype: 'application/json',
      });
      expect(event.type).toBe(`caisson.${String(plain[index]?.['type'])}`);
      expect(event.time).toBe(plain[index]?.['at']);
      expect(event.data?.offset).toBe(plain[index]?.['offset']);
      expect(event.source).toMatch(/^file:\/\/[\w.-]+\/.*\/\.caisson$/);
    }
    expect(new Set(lines.map(({ id }) => id)).size).toBe(lines.length);
    expect(await read(project, '--format', 'cloudevents')).toEqual(lines);
    const [named] = await read(project, '--format', 'cloudevents', '--source', 'urn:example:a');
    expect(named).toEqual({ ...lines[0], source: 'urn:example:a' });
  });

  it('refuses what it cannot read', async () => {
    const project = createProject();
    for (const wrong of [
      ['--after', 'x'],
      ['--type', 'nothing'],
      ['--format', 'xml'],
      ['-o', 'json'],
    ])
      expect((await project.caisson('events', ...wrong)).code).toBe(2);
  });

  it('with -f a webhook gets every event once, also those it refused at first', async () => {
    const bodies: { id: string; subject?: string; type: string }[] = [];
    let refusals = 2;
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        if (refusals-- > 0) return void response.writeHead(503).end();
        expect(request.headers['content-type']).toContain('application/cloudevents+json');
        bodies.push(JSON.parse(Buffer.concat(chunks).toString()) as (typeof bodies)[number]);
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const project = createProject();
    await project.run('--', 'true');
    const events = project.start('events', '-f', '--after', '0', '--format', 'cloudevents');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
    const program = join(ROOT, 'examples/post-events.mjs');
    const poster = spawn(process.execPath, [program, url, 'offset'], { cwd: project.root, env: project.env });
    const posted = finish(poster);
    onTestFinished(() => void poster.kill('SIGKILL'));
    events.stdout?.pipe(poster.stdin);
    await until('the first run has arrived', () =>
      bodies.some(({ type }) => type === 'caisson.dispatch.finished'),
    );
    const { runId } = await project.run('--', 'true');
    const isEnd = ({ subject, type }: (typeof bodies)[number]) =>
      subject === runId && type === 'caisson.dispatch.finished';
    await until('the second run has arrived', () => bodies.some(isEnd));
    const recorded = await read(project, '--format', 'cloudevents');
    await until('all of it has arrived', () => bodies.filter(isRecorded).length === recorded.length);
    expect(bodies.filter(isRecorded)).toEqual(recorded);
    events.kill('SIGTERM');
    expect((await posted).code).toBe(0);
    expect(readFileSync(join(project.root, 'offset'), 'utf8')).toBe(String(recorded.length));
  });
});

const isRecorded = ({ id }: { readonly id: string }): boolean => !id.startsWith('live-');
