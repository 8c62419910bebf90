/** What the agents of a loop are asked. */
import { COMPLETION_TOKEN } from './completion.ts';
import type { LoopInput } from './loop-input.ts';
import type { LoopState } from './loop-state.ts';

type Asked = Pick<LoopInput, 'prompt' | 'specPath' | 'planPath' | 'config'>;

export function implementationPrompt({ prompt, specPath, planPath, config }: Asked, state: LoopState): string {
  const { rewrite, notes } = state;
  const files = config.context_files;
  const token =
    config.completion_mode === 'exact'
      ? `When nothing is left to do, answer with ${COMPLETION_TOKEN} and nothing else.`
      : `When nothing is left to do, end your answer with a line that is ${COMPLETION_TOKEN} and nothing else.`;
  return joined([
    prompt,
    specPath === undefined ? undefined : `What is to be built stands in ${specPath}.`,
    planPath === undefined
      ? 'Do the next piece of work in this folder, and finish it.'
      : `The plan is ${planPath}. Do the first task whose box is not checked, only that one, and check its box when it is done.`,
    files.length === 0 ? undefined : `Read these files as well: ${files.join(', ')}.`,
    token,
    rewrite === '' ? undefined : rewrite,
    notes === '' ? undefined : `The checks failed after the last iteration. Mend that first.\n\n${notes}`,
  ]);
}

export function reviewPrompt({ prompt, specPath, planPath }: Asked, { output }: LoopState): string {
  return joined([
    'Review the last piece of work in this folder. Correct what is wrong with it, and say what you have corrected. Begin nothing new.',
    specPath === undefined
      ? prompt === undefined
        ? undefined
        : `It was asked for with these words:\n\n${prompt}`
      : `What is to be built stands in ${specPath}.`,
    planPath === undefined ? undefined : `The plan is ${planPath}.`,
    output === undefined || output.trim() === '' ? undefined : `Its author says:\n\n${output.trim()}`,
  ]);
}

const joined = (parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined).join('\n\n');

/** The checked boxes of a plan in Markdown. No blank here is a line break: many empty lines would be looked at from each of them anew. */
export function checkedBoxes(plan: string): number {
  return plan.match(/^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[xX]\]\s/gm)?.length ?? 0;
}
