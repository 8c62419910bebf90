import type { Value } from '../../../flow/expression/values.ts';
import type { HookCommand } from '../../../flow/machine/commands.ts';

/** As if a hook had answered with what it was given. */
export function unheard(command: HookCommand): Value {
  switch (command.hook) {
    case 'on_machine_start':
    case 'on_state_enter':
      return command.context;
    case 'on_machine_end':
    case 'on_state_exit':
      return command.output;
    case 'on_transition':
      return command.to;
    case 'on_error':
      return null;
  }
}
