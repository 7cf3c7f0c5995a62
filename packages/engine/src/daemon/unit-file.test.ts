import { expect, test } from 'vitest';
import { formatUnit } from './unit-file.ts';

const plain = { node: '/opt/node', entry: '/opt/caisson.js', projectRoot: '/home/me/app', stateDir: null };

test('the unit starts this program in the project, and lets it end its own processes', () => {
  expect(formatUnit(plain)).toBe(`[Unit]
Description=Caisson for /home/me/app

[Service]
Type=notify
NotifyAccess=all
WorkingDirectory=/home/me/app
ExecStart=/opt/node /opt/caisson.js up
ExecReload=/opt/node /opt/caisson.js reload
KillMode=process
Delegate=yes
Restart=on-failure
WatchdogSec=60
TimeoutStartSec=infinity
TimeoutStopSec=120

[Install]
WantedBy=default.target
`);
});

test('paths with characters that systemd reads are escaped', () => {
  const unit = formatUnit({ ...plain, projectRoot: '/a b/50%', stateDir: '/x $HOME "q" \\ 5%' });
  expect(unit).toContain('WorkingDirectory=/a b/50%%\n');
  expect(unit).toContain('up --state-dir "/x $$HOME \\"q\\" \\\\ 5%%"\n');
});

test('a path with a line break is refused', () => {
  expect(() => formatUnit({ ...plain, projectRoot: '/a\nExecStart=/bin/sh' })).toThrow('a control character');
});
