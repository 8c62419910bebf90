/** What the agents of a loop are asked. */
import { isMap, type Value } from '../expression/values.ts';
import { COMPLETION_TOKEN } from './completion.ts';
import type { LoopInput } from './loop-input.ts';
import type { LoopState } from './loop-state.ts';

type Asked = Pick<LoopInput, 'prompt' | 'specPath' | 'planPath' | 'config'>;

/** Longer words of whoever started the run stand in its input alone: each phase that is asked would keep them twice. */
const LONG = 2_000;
const LEFT_OUT = '[the prompt of the run, which stands in its input]';

const wordsOf = (prompt: string): string => (prompt.length > LONG ? LEFT_OUT : prompt);

/** The prompt of a phase with all that was left out of it. `given`: the input of the run. */
export function wholePrompt(prompt: string, given: Value): string {
  const words = isMap(given) && typeof given['prompt'] === 'string' ? given['prompt'] : '';
  return words.length > LONG ? prompt.replace(LEFT_OUT, () => words) : prompt;
}

export function implementationPrompt({ prompt, specPath, planPath, config }: Asked, state: LoopState): string {
  const { rewrite, notes } = state;
  const files = config.context_files;
  const token =
    config.completion_mode === 'exact'
      ? `When nothing is left to do, answer with ${COMPLETION_TOKEN} and nothing else.`
      : `When nothing is left to do, end your answer with a line that is ${COMPLETION_TOKEN} and nothing else.`;
  return joined([
    prompt === undefined ? undefined : wordsOf(prompt),
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
        : `It was asked for with these words:\n\n${wordsOf(prompt)}`
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
