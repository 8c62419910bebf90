/** Where the files of a run lie, and what they are called. Names are made of numbers and of words of ours. */
import type { LoopPhase } from '../records.ts';

/** `workspace`: below the folder of the workspace. `global`: artifacts of the run. `mirror`: both. */
export const ARTIFACT_MODES = ['workspace', 'global', 'mirror'] as const;
export type ArtifactMode = (typeof ARTIFACT_MODES)[number];

export const PROMPT = 'prompt.txt';
export const SUMMARY = 'summary.json';
export const REPORT = 'report.tsv';

const SLUGS: Readonly<Record<LoopPhase, string>> = {
  implementation: 'impl',
  review: 'review',
  verification: 'verify',
  watchdog: 'watchdog',
  merge: 'merge',
};

export const slugOf = (phase: LoopPhase): string => SLUGS[phase];

const numbered = (iteration: number): string => `iter-${String(iteration).padStart(2, '0')}`;

/** All that a phase has said. `iteration`: implementations so far, this one included. */
export const logFile = (iteration: number, phase: LoopPhase): string => `${numbered(iteration)}-${SLUGS[phase]}.log`;

/** The end of what an implementation has said. */
export const tailFile = (iteration: number): string => `${numbered(iteration)}.tail.txt`;

/** The prompt after the watchdog has rewritten it so often. */
export const rewriteFile = (rewrites: number): string => `prompt.rewrite.${rewrites}.txt`;

/** Among the artifacts of its run. */
export const artifactName = (file: string): string => `loop/${file}`;

/** The folder of a run below that of its workspace. Two ids give two names. */
export const runFolder = (executionId: string): readonly string[] => ['logs', 'loop', `run-${inName(executionId)}`];

const LONGEST = 100;

/** An id may be any text: what no file may be called is written by its number, and what is too long has a sum behind it. */
function inName(id: string): string {
  const name = id.replaceAll(/[^A-Za-z0-9_-]/gu, (char) => `%${(char.codePointAt(0) as number).toString(16)}-`);
  return name.length <= LONGEST ? name : `${name.slice(0, LONGEST)}~${sumOf(id)}`;
}

/** FNV-1a, over the units of the text, twice with different beginnings. */
function sumOf(text: string): string {
  return [0x811c9dc5, 0x01000193]
    .map((begin) => {
      let sum = begin;
      for (let i = 0; i < text.length; i++) sum = Math.imul(sum ^ text.charCodeAt(i), 0x01000193);
      return (sum >>> 0).toString(16).padStart(8, '0');
    })
    .join('');
}
