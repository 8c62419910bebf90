import { fault } from '../../core/errors.ts';
import type { LauncherKind } from '../launcher.ts';
import { onlySettings } from './local-settings.ts';

/** Workers within the process that checks. They end with it. */
export const IN_PROCESS: LauncherKind = {
  kind: 'in-process',
  make(settings, { inProcess }) {
    onlySettings('in-process', settings, []);
    return {
      async launch(request) {
        if (inProcess === undefined) {
          const problem = 'the process that checked this pool cannot have workers of its own';
          throw fault(
            'UNSUPPORTED',
            {},
            { hint: `${problem}. Check it in a node, or in a program that has the store open.` },
          );
        }
        return { started: `worker ${await inProcess(request)} in this process` };
      },
    };
  },
};
