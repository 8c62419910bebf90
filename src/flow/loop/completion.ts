/** The token by which an agent says that nothing is left to do. */
export const COMPLETION_TOKEN = '<promise>COMPLETE</promise>';

export const COMPLETION_MODES = ['trailing', 'exact'] as const;
/** `trailing`: the last line that is not blank is the token. `exact`: nothing else was said. */
export type CompletionMode = (typeof COMPLETION_MODES)[number];

/** `malformed`: the token is there, but not where it counts. */
export type Completion = 'complete' | 'malformed' | 'none';

export function completionOf(output: string, mode: CompletionMode): Completion {
  const said = mode === 'exact' ? output.trim() : lastLine(output);
  if (said === COMPLETION_TOKEN) return 'complete';
  return output.includes(COMPLETION_TOKEN) ? 'malformed' : 'none';
}

function lastLine(output: string): string {
  const text = output.trimEnd();
  return text.slice(text.lastIndexOf('\n') + 1).trim();
}
