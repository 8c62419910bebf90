/** The options of a push: their fields, their problems, their panel. */

import { isDuration } from '../../model/time.ts';
import { Field } from '../../ui/fields.tsx';
import { Panel } from '../../ui/layout.tsx';

export interface Options {
  readonly priority: string;
  readonly delay: string;
  readonly maxAttempts: string;
  readonly timeout: string;
  readonly unique: string;
  readonly requires: string;
  readonly limits: string;
}

export function startingOptions(options: Readonly<Record<string, unknown>>): Options {
  const { priority, maxAttempts, placement, limits } = options as {
    priority?: number;
    maxAttempts?: number;
    placement?: { requires?: readonly string[] };
    limits?: readonly { name: string }[];
  };
  return {
    priority: priority === undefined ? '' : String(priority),
    delay: '',
    maxAttempts: maxAttempts === undefined ? '' : String(maxAttempts),
    timeout: '',
    unique: '',
    requires: placement?.requires?.join(', ') ?? '',
    limits: limits?.map(({ name }) => name).join(', ') ?? '',
  };
}

export function problemsOf(options: Options): Record<string, string> {
  const wrong: Record<string, string> = {};
  for (const name of ['delay', 'timeout'] as const)
    if (options[name] !== '' && !isDuration(options[name])) wrong[name] = 'is written like 30s, 5m or 1h30m';
  for (const name of ['priority', 'maxAttempts'] as const)
    if (options[name] !== '' && !/^-?\d+$/.test(options[name])) wrong[name] = 'is a whole number';
  return wrong;
}

export function OptionsPanel({
  options,
  problems,
  onChange,
  without = [],
}: {
  readonly options: Options;
  /** Options that make no sense here. */
  readonly without?: readonly (keyof Options)[];
  readonly problems: Readonly<Record<string, string>>;
  readonly onChange: (options: Options) => void;
}) {
  const option = (name: keyof Options, label: string, hint: string, placeholder = '') =>
    without.includes(name) ? null : (
      <Field label={label} hint={hint} problem={problems[name]}>
        {(props) => (
          <input
            {...props}
            className="input"
            placeholder={placeholder}
            value={options[name]}
            onChange={(event) => onChange({ ...options, [name]: event.target.value })}
          />
        )}
      </Field>
    );
  return (
    <Panel title="Options">
      <div className="panel-body fields">
        {option('priority', 'Priority', 'Tasks of higher priority go first. Default 0')}
        {option('delay', 'Delay', 'How long the task waits first', '10m')}
        {option('maxAttempts', 'Tries', 'How often the task is tried. Default 3')}
        {option('timeout', 'Timeout of one attempt', 'After this time the attempt is stopped', '1h')}
        {option('unique', 'Unique key', 'A second push with this key returns the same task')}
        {option('requires', 'Required tags', 'Separated by commas', 'gpu, memory_gb>=16')}
        {option('limits', 'Limits', 'Separated by commas', 'claude')}
      </div>
    </Panel>
  );
}
