/**
 * Risky files in a folder. The table lists the risky names; this adds what only the files show: the target of a link
 * with such a name, and whether a name is a link.
 */
import { existsSync, readlinkSync, realpathSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { findRisk, findRiskBelow, listRiskyPaths, type OwnControl, type RiskGrade } from '@caisson/protocol';
import { isPlantedGitControl } from './git-controls.ts';
import { statIfThere } from '../files/index.ts';

/** Why a path is risky here. */
export interface FoundRisk {
  readonly grade: RiskGrade;
  readonly why: string;
}

const MAX_LINKS = 16;
const CONTROL: FoundRisk = { grade: 'never', why: 'is a control file' };

/**
 * Decides whether a path of a workspace is risky by its place or its target, not by its content. A link named like the
 * folder of a control file would bring one in under another name, and so would a file that such a link already leads
 * to. `own` are risky files of this one project, at their one place.
 */
export function createControlTest(
  root: string,
  own: readonly OwnControl[] = [],
): (path: string) => FoundRisk | null {
  const places = (['never', 'ask'] as const).flatMap((grade) => {
    const ofGrade = own.filter((control) => control.grade === grade).map(({ path }) => path);
    const real = [...listRiskyPaths(grade), ...ofGrade].flatMap((path) => realPlace(root, path));
    return [...ofGrade, ...real].map((place) => ({ place, grade }));
  });
  return (path) => {
    const place = places.find((known) => path === known.place || path.startsWith(`${known.place}/`));
    const below = findRiskBelow(path);
    return strictestOf(
      isPlantedGitControl(root, path) ? CONTROL : null,
      place === undefined ? null : riskOf(place.grade),
      riskOfName(path),
      below !== null && isLink(join(root, path)) ? riskOf(below.grade, below.obeyedBy) : null,
    );
  };
}

/** The table's answer for a name; nothing if the content decides. */
export function riskOfName(path: string): FoundRisk | null {
  const entry = findRisk(path);
  return entry === null || entry.parts !== undefined ? null : riskOf(entry.grade, entry.obeyedBy);
}

/** In words, as the end of a sentence that begins with the path. */
export function riskOf(grade: RiskGrade, obeyedBy = 'the settings of this project'): FoundRisk {
  return grade === 'never' ? CONTROL : { grade, why: `is obeyed by ${obeyedBy}` };
}

export function strictestOf(...risks: readonly (FoundRisk | null)[]): FoundRisk | null {
  const found = risks.filter((risk) => risk !== null);
  return found.find(({ grade }) => grade === 'never') ?? found.at(-1) ?? null;
}

function isLink(path: string): boolean {
  return statIfThere(path, 'itself')?.isSymbolicLink() ?? false;
}

/** Where a path leads, also if nothing is there yet: the target of a dangling link is made under another name. */
function findTarget(path: string, linksLeft: number): string | null {
  if (existsSync(path)) return realpathSync.native(path);
  if (isLink(path))
    return linksLeft === 0 ? null : findTarget(resolve(dirname(path), readlinkSync(path)), linksLeft - 1);
  const parent = dirname(path);
  if (parent === path) return null;
  const above = findTarget(parent, linksLeft);
  return above === null ? null : join(above, basename(path));
}

/** The real place of a risky file in the workspace; only names are compared, nothing is read. */
function realPlace(root: string, control: string): string[] {
  const place = relative(realpathSync.native(root), findTarget(join(root, control), MAX_LINKS) ?? root);
  return place === '' || place === '..' || place.startsWith('../') ? [] : [place];
}
