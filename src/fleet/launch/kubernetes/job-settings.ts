import { flag, list, map, object, optional, type Shape, text, texts, whole } from '../../../worker/handlers/schema.ts';
import { argv, variables } from '../fields.ts';
import { CLOSED, OPEN } from '../placeholders.ts';

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** Names of secrets and service accounts. */
const DOMAIN = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
const QUANTITY = /^\d{1,9}(\.\d{1,3})?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$/;
const LABEL_KEY = /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const LABEL_VALUE = /^([A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?$/;
/** The launcher says these itself, or they would undo what it promises. */
const OWN_POD_FIELDS = ['containers', 'restartPolicy'];

const fields = {
  image: text({ minLength: 1, check: checkImage, about: 'The image of the worker; its entry point is leasehold.' }),
  namespace: optional(
    text({ check: (given) => isLike(LABEL, given, 'a namespace'), about: 'Default: that of the node.' }),
  ),
  command: optional(argv(OPEN, 'Instead of the entry point of the image.')),
  args: optional(argv(OPEN, 'Default: {args}.')),
  env: optional(variables(CLOSED, 'Variables of the worker, such as LEASEHOLD_JOIN.')),
  env_secrets: optional(
    list(text({ check: (given) => isLike(DOMAIN, given, 'the name of a Secret') }), {
      about: 'Secrets of the cluster whose entries are variables of the worker.',
    }),
  ),
  service_account: optional(
    text({
      check: (given) => isLike(DOMAIN, given, 'the name of a service account'),
      about: 'Default: that of the namespace, without its token.',
    }),
  ),
  cpu: optional(
    text({ check: (given) => isLike(QUANTITY, given, 'a quantity such as 500m'), about: 'Requested, not limited.' }),
  ),
  memory: optional(
    text({ check: (given) => isLike(QUANTITY, given, 'a quantity such as 512Mi'), about: 'Requested, and the limit.' }),
  ),
  node_selector: optional(texts({ about: 'Labels of the hosts that may run it.', check: checkLabel })),
  labels: optional(
    texts({ about: 'Labels of the Job and of its pod, besides those of the launcher.', check: checkLabel }),
  ),
  keep_seconds: optional(
    whole({ min: 0, max: 30 * 86_400, about: 'How long a finished Job is kept; default an hour.' }),
  ),
  run_seconds: optional(
    whole({ min: 1, max: 365 * 86_400, about: 'After which the cluster ends a worker; default: never.' }),
  ),
  read_only: optional(
    flag('Whether the file system of the worker is read-only, but for /data and /tmp; default true.'),
  ),
  mounts: optional(list(map(), { about: 'More volumeMounts, of volumes in pod.' })),
  pod: optional(map('More of the PodSpec, such as tolerations and volumes.')),
};

export const jobSettings = object(fields, {
  check({ pod = {}, labels = {} }, report) {
    for (const field of OWN_POD_FIELDS) if (Object.hasOwn(pod, field)) report(['pod', field], 'is set by the launcher');
    if (Object.hasOwn(pod, 'volumes') && !Array.isArray(pod['volumes'])) report(['pod', 'volumes'], 'must be a list');
    const own = Object.keys(labels).find(
      (label) => label.startsWith('app.kubernetes.io/') || label.startsWith('leasehold/'),
    );
    if (own !== undefined) report(['labels', own], 'is set by the launcher');
  },
});

export type JobSettings = Shape<typeof fields>;

function isLike(pattern: RegExp, given: string, what: string): string | undefined {
  return pattern.test(given) ? undefined : `must be ${what}`;
}

function checkImage(given: string): string | undefined {
  return /^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,511}$/.test(given) ? undefined : 'must be the reference of an image';
}

function checkLabel(name: string, value: string): string | undefined {
  if (!LABEL_KEY.test(name)) return 'is not the name of a label';
  return LABEL_VALUE.test(value) ? undefined : 'has a value that a label cannot have';
}
