import type { AppliedWorkflowView, WorkflowView } from '../../operate/views.ts';
import type { Out } from '../display/out.ts';
import { safeLine } from '../display/safe.ts';
import { formatWhen } from '../display/time.ts';

/** `on, next 5 January …`. */
export function standText({ enabled, triggers }: WorkflowView, now: number): string {
  if (!enabled) return 'off';
  const times = triggers.flatMap(({ nextAt }) => nextAt ?? []);
  return times.length === 0 ? 'on' : `on, next ${formatWhen(Math.min(...times), now)}`;
}

/** What differs from the version before, and what is unwise, a line each. */
export function tellChanges(out: Out, { changes, warnings }: AppliedWorkflowView): void {
  const signs = { added: out.paint('green', '+'), removed: out.paint('red', '-'), changed: out.paint('yellow', '~') };
  for (const { change, what, fields = [] } of changes) {
    const of = fields.length === 0 ? '' : `: ${fields.join(', ')}`;
    out.line(`${signs[change]} ${safeLine(`${what}${of}`)}`);
  }
  for (const { path, message } of warnings) out.note(safeLine(`warning: ${path}: ${message}`));
}
