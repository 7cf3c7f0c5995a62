/**
 * `caisson run -- TEST` in real projects passes without a setting, as root and as an ordinary user; shows what it brings;
 * leaves `.env` out; and changes nothing of the user's.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROJECTS, type RealProject } from './list-projects.ts';
import { becomePerson, PEOPLE, type Person } from './person.ts';

/** Every file of project and HOME with its mode, size and times, without what Caisson and the run's own git write. */
const SNAPSHOT = String.raw`find ~ -path '*/.caisson' -prune -o -path '*/.git' -prune -o -path '*/caisson/*' -prune -o ! -type d -printf '%p %m %s %C@\n' | sort`;
const COMMIT = 'git -c user.name=Me -c user.email=me@example.invalid commit -qm project';

function make(person: Person, { name, make: script, ignored, paths }: RealProject): string {
  const root = person.makeFolder(`work/${name.replaceAll(' ', '-')}`);
  person.sh(root, 'git init -q');
  person.sh(root, script, paths);
  person.sh(root, `printf '%s\n' .env ${ignored.map((each) => `'${each}'`).join(' ')} > .gitignore`);
  person.sh(root, `git add -A; ${COMMIT}; echo TOKEN=of-the-user > .env`);
  return root;
}

describe.each(PEOPLE)('for %s', (who) => {
  let person: Person;
  beforeAll(() => {
    person = becomePerson(who);
  });
  afterAll(() => person.leave());

  it.each(PROJECTS.map((project) => [project.name, project] as const))('%s', async (_, project) => {
    const root = make(person, project);
    const before = person.sh(root, SNAPSHOT);
    const script = `${project.test} && if cat .env; then exit 9; fi`;
    const { code, stdout, stderr } = await person.caisson(
      root,
      project.paths ?? [],
      ...['run', '--', 'sh', '-c', script],
    );
    expect(code, stdout + stderr).toBe(0);
    expect(stdout + stderr).toContain(project.says);
    expect(stdout).not.toContain('of-the-user');
    for (const path of project.brings)
      expect(stderr).toMatch(new RegExp(`brought along: .*${escape(path)}(,|$)`, 'm'));
    expect(person.sh(root, SNAPSHOT)).toBe(before);
  });
});

const escape = (text: string): string => text.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`);
