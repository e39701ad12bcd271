#!/bin/sh
# Removes what scripts/deploy.sh made: the deployment stack of all that holds no data, and that of the
# data only where it is asked for.
#
# Azure itself knows what belongs to a stack, and deletes that and nothing else. What is asked before:
#   locks   one in the way would leave half a deployment, which is worse than a whole one.
#   shared  a stack deletes what it lists, also what another stack lists too, such as the DNS zones of a
#           second private deployment in the group.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
python=python3
for one in "$root/.venv/bin/python" "$root/.venv-deploy/bin/python"; do
    [ ! -x "$one" ] || python=$one
done

usage() {
    cat <<'USAGE'
scripts/remove.sh --resource-group GROUP [options]

Removes a deployment of openmirror, by deleting its deployment stack NAME with all that it made. What
holds data, the stack NAME-data, stays as it is: the lake account with landing zones and tables, a
Databricks workspace that was made, and the network of a private deployment. The roles on it go, since
the deployment gave them. It says what would go, looks for locks and for what other stacks share, and
asks. The Databricks job is not part of it: first databricks bundle destroy. After a failure run it
again: what is gone already is passed over.

  --resource-group GROUP   where it is
  --name NAME              the deployment's parameter `name` [openmirror]
  --with-data              delete the stack NAME-data too, and with it all that was landed and mirrored
  --dry-run                only say what would go
  --yes                    do not ask
  --help                   this text

To keep the data and only lift the denial to delete it, delete the stack of the data without what it
made:

  az stack group delete --name NAME-data --resource-group GROUP --action-on-unmanage detachAll
USAGE
}

say() { printf 'remove: %s\n' "$*" >&2; }

refuse() {
    say "$1"
    say 'scripts/remove.sh --help lists the options.'
    exit 2
}

stop() {
    say "$1"
    say "$2"
    exit 1
}

group='' name=openmirror data='' dry='' yes=''
while [ $# -gt 0 ]; do
    case $1 in
    --resource-group | --name)
        if [ $# -lt 2 ] || [ -z "$2" ]; then refuse "$1 needs a value."; fi
        case $1 in
        --resource-group) group=$2 ;;
        --name) name=$2 ;;
        esac
        shift
        ;;
    --with-data) data=yes ;;
    --dry-run) dry=yes ;;
    --yes) yes=yes ;;
    -h | --help)
        usage
        exit
        ;;
    *) refuse "there is no option '$1'." ;;
    esac
    shift
done
[ -n "$group" ] || refuse '--resource-group is missing.'

above='The error stands above, and nothing was deleted.'
stacks=$(az stack group list --resource-group "$group" --output json \
    --query '[].{name: name, resources: resources[].id}') ||
    stop "the stacks of $group cannot be read" "$above"
locks=$(az lock list --resource-group "$group" --output json \
    --query '[].{id: id, level: level}') ||
    stop "the locks of $group cannot be read" "$above"

plan=0
printf '[%s, %s]' "$stacks" "$locks" |
    "$python" -I -S "$root/scripts/removal.py" "$name" "${data:-no}" || plan=$?
case $plan in
0) ;;
3) exit 0 ;;
4) stop 'nothing was deleted.' 'Remove what is in the way, and run this command again.' ;;
*) stop 'what would go cannot be worked out.' "$above" ;;
esac
[ -z "$dry" ] || exit 0

if [ -z "$yes" ]; then
    [ -z "$data" ] || say 'ALL DATA IS DELETED with it: what was landed, and the tables.'
    printf 'remove: this is deleted from the group %s. Type the name of the group to go on: ' "$group" >&2
    typed=''
    read -r typed || true
    if [ "$typed" != "$group" ]; then
        say 'nothing was deleted'
        exit 130
    fi
fi

# gone STACK: delete it with what it made; nothing where there is no such stack.
gone() {
    printf '%s' "$stacks" | "$python" -I -S -c 'import json, sys
sys.exit(sys.argv[1] not in [one["name"] for one in json.load(sys.stdin)])' "$1" || return 0
    say "deleting the stack $1"
    az stack group delete --name "$1" --resource-group "$group" --action-on-unmanage deleteAll \
        --resources-without-delete-support detach --yes ||
        stop "not all of the stack $1 is gone." \
            'Azure says above what could not be deleted. Remove the cause, and run this command again.'
}

gone "$name"
[ -z "$data" ] || gone "$name-data"
say 'done.'
