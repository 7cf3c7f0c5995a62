/** A throw-away project and the built CLI in it: what every end-to-end test stands on. */
import { onTestFinished } from 'vitest';
import { openProject, type Project, type ProjectOptions } from './open-project.ts';

export * from './open-project.ts';

/** A project that goes with the test. */
export function createProject(options: ProjectOptions = {}): Project {
  return openProject(options, (end) => void onTestFinished(end));
}
