import { loadCall } from '../../config/load.ts';
import { linesOf, requireTask } from '../../operate/calls/calls.ts';
import { logLines } from '../display/log-lines.ts';
import { type Out, outFor } from '../display/out.ts';
import type { Command } from '../kit/command.ts';
import { EXIT } from '../kit/exit.ts';
import { OPERATOR_OPTIONS, withOperator } from '../kit/operator-for.ts';
import { followTasks } from './follow.ts';
import { ID } from './id.ts';

/** `leasehold tasks logs ID`. */
export const logs: Command = {
  name: 'tasks logs',
  doc: 'Print the log of a task',
  args: [ID],
  options: ['follow', ...OPERATOR_OPTIONS],
  examples: [
    { line: 'tasks logs 42', does: 'all attempts, the oldest first' },
    { line: 'tasks logs 42 -f', does: 'the same, followed until the task ends' },
  ],

  run(args) {
    const { config, args: words } = loadCall(logs, args);
    const [id] = words as [string];
    const out = outFor(config);
    return withOperator(config, async (operator) => {
      // The position of the feed before the task is read, so that its end cannot be missed.
      const { last: after } = await operator.call('readEvents');
      const { id: publicId, attempt } = await requireTask(operator, id);
      if (config.follow) return followTasks(operator, { ids: [publicId], after, out, logsOnly: true });
      let shown = 0;
      let dropped = 0;
      for await (const line of linesOf(operator, publicId)) {
        if (out.mode === 'json') out.json({ id: publicId, ...line });
        else {
          if (out.mode === 'screen' && line.attempt !== shown) out.line(out.paint('dim', `— attempt ${line.attempt}`));
          for (const text of logLines(line, out)) out.line(text);
        }
        shown = line.attempt;
        dropped += line.dropped ?? 0;
      }
      if (shown === 0) sayWhyEmpty(out, attempt);
      if (dropped > 0 && out.mode !== 'json')
        out.note(`Not kept: ${dropped.toLocaleString('en')} lines beyond the bound of a log.`);
      return EXIT.fine;
    });
  },
};

function sayWhyEmpty(out: Out, attempt: number): void {
  if (out.mode === 'json') return;
  out.note(attempt === 0 ? 'Nothing yet: the task has not been started.' : 'The log of the task is empty.');
}
