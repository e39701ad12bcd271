#!/bin/sh
# Deploys openmirror into a resource group, or brings what is there to this checkout's version.
#
# The order is safe for a system that is at work, and no change is lost in between, because nothing
# is only in memory: files stay in the landing zone, events wait in their queue for the app, work
# items in theirs for the runner, and what was applied stands in the Delta logs. So:
#   1. two templates  what holds data, then all else: queues, roles and settings are there before
#                     anybody needs them; a deployment over a running one changes only what differs.
#                     Each is a deployment stack, so that Azure itself knows what belongs to it. The
#                     first one lets nobody delete what it made and deletes nothing itself; the second
#                     takes away what its template no longer has. scripts/remove.sh relies on both.
#   2. the runner     it reads all that an older app writes. A run that goes on with the old wheel
#                     holds its tables' leases, and whoever comes next goes on from the log.
#   3. the app        last, so that it never starts a runner that is older than itself. While it
#                     restarts, messages wait.
# Every step may be done again: after a failure, or to be sure.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)
# The developers' environment, or the light one, which the first step makes where neither is there.
python=$root/.venv/bin/python

usage() {
    cat <<'USAGE'
scripts/deploy.sh --resource-group GROUP [options]

Deploys openmirror into a resource group that exists, or upgrades what is there. It checks the
subscription, deploys infra/bicep/data.bicep and main.bicep as two deployment stacks, then the runner
(a Databricks bundle), then the Function App, and verifies all of it; with a file that it lands and
takes away again, if the parameter file names operators, who may land one, and a runner is known that
takes it up. It stops at the first step that fails, and shows what was done and how to go on. Running
it again is always safe.

  --resource-group GROUP      where to; make one with: az group create --name GROUP --location REGION
  --parameters FILE           the templates' parameters [infra/bicep/small.parameters.json]. Whom it no
                              longer names loses the roles that it gave
  --databricks-target TARGET  deploy the runner to this target of databricks.yml. Without it: to prod
                              if the deployment names a workspace, and otherwise not at all. A
                              target is one runner in a workspace: a second deployment that
                              shares the workspace needs a target of its own
  --skip-databricks           leave the runner alone: it runs elsewhere, or is deployed by others
  --vendor                    put the app's requirements into its package, for networks where
                              Azure's own build cannot reach a package index. What is fetched
                              for them is the newest of that day
  --what-if                   only check, and show what the templates would change. What would go, since
                              main.bicep no longer makes it, is not shown
  --help                      this text

You need az (logged in, with the subscription chosen), git, Python, and for the runner the
databricks command line. The job that the runner's bundle makes becomes a setting of the app by
itself, and stays one; a databricksJobId in the parameter file counts more, an empty one as well:
then nobody starts a run. The stacks are called after the parameter `name`, openmirror without one:
NAME-data and NAME. The verbs take the same as --name.
USAGE
}

say() { printf 'deploy: %s\n' "$*" >&2; }

# --- What is asked --------------------------------------------------------------------------------

refuse() {
    say "$1"
    say 'scripts/deploy.sh --help lists the options.'
    exit 2
}

group='' parameters=$root/infra/bicep/small.parameters.json
target='' skip='' vendor='' what_if=''
while [ $# -gt 0 ]; do
    case $1 in
    --resource-group | --parameters | --databricks-target)
        if [ $# -lt 2 ] || [ -z "$2" ]; then refuse "$1 needs a value."; fi
        case $1 in
        --resource-group) group=$2 ;;
        --parameters)
            # Whole, since it is read again after this script has gone to another folder.
            case $2 in
            /*) parameters=$2 ;;
            *) parameters=$PWD/$2 ;;
            esac
            ;;
        --databricks-target) target=$2 ;;
        esac
        shift
        ;;
    --skip-databricks) skip=yes ;;
    --vendor) vendor=yes ;;
    --what-if) what_if=yes ;;
    -h | --help)
        usage
        exit
        ;;
    *) refuse "there is no option '$1'." ;;
    esac
    shift
done
[ -n "$group" ] || refuse '--resource-group is missing.'
[ -f "$parameters" ] || refuse "there is no file '$parameters' with parameters."
if [ -n "$target" ] && [ -n "$skip" ]; then
    refuse '--databricks-target and --skip-databricks exclude each other.'
fi

# --- Steps ----------------------------------------------------------------------------------------

begun='' # whether anything may have been changed
finished=''

# stop WHAT REMEDY: a step failed; its own output is above.
stop() {
    say "this failed: $1"
    if [ -n "$finished" ]; then
        say "done before it, and there to stay:$finished"
    elif [ -n "$begun" ]; then
        say 'what it had made until then is there, and stays.'
    else
        say 'nothing was changed.'
    fi
    say "$2"
    say 'Then run this command again: what is done already is found as it is.'
    exit 1
}

# step WHAT REMEDY COMMAND...: show it, do it, or stop.
step() {
    what=$1
    remedy=$2
    shift 2
    say "$what"
    "$@" || stop "$what" "$remedy"
}

finish() { finished="$finished
  - $1"; }

# The next three print one line for each thing that they are asked for; the last may be empty.

# from_file NAME...: what the parameter file gives each, after a '=', or an empty line. Behind them,
# for each template, those of its parameters that it takes, as az takes them: az refuses any other,
# and preflight has seen to it that each belongs to one of the two.
from_file() {
    "$python" -I -S -c 'import json, re, sys
file, bicep, *names = sys.argv[1:]
given = json.load(open(file, encoding="utf-8"))["parameters"]
for name in names:
    value = given.get(name, {}).get("value")
    text = value if isinstance(value, str) else json.dumps(value)
    print("" if value is None else "=" + text)
for template in "data", "main":
    text = open(f"{bicep}/{template}.bicep", encoding="utf-8").read()
    known = re.findall(r"^param (\w+) ", text, re.MULTILINE)
    print(json.dumps({name: one for name, one in given.items() if name in known}))' \
        "$parameters" "$root/infra/bicep" "$@"
}

# previous NAME...: what the stack of this `name` was given for each, or nothing.
previous() {
    printf '%s' "$earlier" | "$python" -I -S -c 'import json, sys
ours, *names = sys.argv[1:]
given = [one["given"] or {} for one in json.load(sys.stdin) if one["name"] == ours] or [{}]
for name in names:
    print((given[0].get(name) or {}).get("value") or "")' "$name" "$@"
}

# output NAME...: of the stack. Azure spells some names partly in lower case: functioN_APP.
output() {
    printf '%s' "$outputs" | "$python" -I -S -c 'import json, sys
values = {name.upper(): one["value"] for name, one in (json.load(sys.stdin) or {}).items()}
for name in sys.argv[1:]:
    print(values.get(name, ""))' "$@"
}

# Only what the stack itself has made cannot be deleted, and not what others have put onto it: those
# are the roles and log settings of the other stack, which goes without this one. They are named too,
# so that it does not hang on how far Azure understands a denial to reach.
others='Microsoft.Authorization/roleAssignments/delete Microsoft.Insights/diagnosticSettings/delete'

deploy_data() {
    az stack group create --resource-group "$group" --name "$name-data" --output none --yes \
        --template-file "$root/infra/bicep/data.bicep" --parameters "$for_data" \
        --action-on-unmanage detachAll --deny-settings-mode denyDelete \
        --deny-settings-excluded-actions "$others"
}

# Settings of the app are among what Azure cannot delete by itself: they go with the app.
deploy_main() {
    az stack group create --resource-group "$group" --name "$name" --output none --yes \
        --template-file "$root/infra/bicep/main.bicep" --parameters "$for_main" \
        --parameters "databricksWorkspaceUrl=$workspace" "databricksJobId=$job" \
        --action-on-unmanage deleteAll --resources-without-delete-support detach \
        --deny-settings-mode none
}

# az has Azure build an app in Python in any case: what is vendored goes another way.
publish_app() {
    if [ -n "$vendor" ]; then
        "$root/dev" openmirror azure publish "$package" --resource-group "$group" --name "$name"
    else
        az functionapp deployment source config-zip --resource-group "$group" --name "$app" \
            --src "$package" --build-remote true --output none
    fi
}

upload_app() {
    # The app's identity reads its package by roles that hold only minutes after they are given.
    for wait in 60 60 0; do
        if publish_app; then return 0; fi
        [ "$wait" = 0 ] && return 1
        say "the app did not take its package; again in $wait s, in case its roles do not hold yet"
        sleep "$wait"
    done
}

# --- Check ----------------------------------------------------------------------------------------

say "reading the resource group $group"
az group show --name "$group" --output none ||
    stop 'reading the resource group' \
        "Log in with: az login. If it is not there: az group create --name '$group' --location REGION"

step 'asking whether the subscription has what is needed' \
    'What is missing, and the remedy of each, stands above.' \
    "$root/dev" openmirror azure preflight --resource-group "$group" --parameters "$parameters"

[ -x "$python" ] || python=$root/.venv-deploy/bin/python

read_failed='reading the parameter file'
found=$(from_file name operators databricksWorkspaceUrl databricksJobId pythonVersion) ||
    stop "$read_failed" "It must be a JSON parameter file such as infra/bicep/small.parameters.json."
{
    IFS= read -r named
    IFS= read -r operators
    IFS= read -r workspace_given
    IFS= read -r job_given
    IFS= read -r version
    IFS= read -r for_data
    IFS= read -r for_main
} <<LINES
$found
LINES
name=${named#=}
[ -n "$name" ] || name=openmirror

# A job that the app had as a setting before stays one, unless the file changes that: by an empty
# number, or by naming another workspace, where the number means nothing.
read_failed='reading what was deployed before'
earlier=$(az stack group list --resource-group "$group" --output json \
    --query '[].{name: name, given: parameters}') ||
    stop "$read_failed" 'The error stands above.'
found=$(previous databricksWorkspaceUrl databricksJobId) ||
    stop "$read_failed" 'The error stands above.'
{
    IFS= read -r earlier_workspace
    IFS= read -r earlier_job || :
} <<LINES
$found
LINES
workspace=${workspace_given#=}
[ -n "$workspace_given" ] || workspace=$earlier_workspace
if [ -n "$workspace" ] && [ -n "$earlier_workspace" ] &&
    [ "${workspace%/}" != "${earlier_workspace%/}" ]; then earlier_job=''; fi
job=${job_given#=}
[ -n "$job_given" ] || job=$earlier_job

if [ -n "$what_if" ]; then
    step 'asking what the template of the data would change' 'The error stands above.' \
        az deployment group what-if --resource-group "$group" --name "$name-data" \
        --template-file "$root/infra/bicep/data.bicep" --parameters "$for_data"
    step 'asking what the template of all else would change' 'The error stands above.' \
        az deployment group what-if --resource-group "$group" --name "$name" \
        --template-file "$root/infra/bicep/main.bicep" --parameters "$for_main" \
        --parameters "databricksWorkspaceUrl=$workspace" "databricksJobId=$job"
    say 'that is what would change; nothing was.'
    exit
fi

# --- 1. The templates -----------------------------------------------------------------------------

begun=yes
failed='Each resource that failed is named above; the portal shows the stack and its deployment as well.'
step 'deploying what holds data' "$failed" deploy_data
finish "what holds data, as the stack $name-data"
step 'deploying all else' "$failed" deploy_main
finish "all else, as the stack $name"

# --- 2. The runner --------------------------------------------------------------------------------

read_failed="reading the stack's outputs"
outputs=$(az stack group show --resource-group "$group" --name "$name" \
    --query outputs --output json) || stop "$read_failed" 'The error stands above.'
found=$(output DATABRICKS_WORKSPACE_URL FUNCTION_APP OPENMIRROR_ROOT OPENMIRROR_QUEUES \
    FUNCTIONS_CLIENT_ID RUNNER_CLIENT_ID APPLICATIONINSIGHTS_CONNECTION_STRING) ||
    stop "$read_failed" 'The error stands above.'
{
    IFS= read -r workspace
    IFS= read -r app || :
    IFS= read -r its_root || :
    IFS= read -r its_queues || :
    IFS= read -r its_functions || :
    IFS= read -r its_runner || :
    IFS= read -r its_telemetry || :
} <<LINES
$found
LINES
[ -n "$app" ] || stop "$read_failed" \
    'They name no Function App: was the stack made by another template?'

at_work='' # whether a runner is known that is there, or will be started
if [ -z "$target" ] && [ -n "$workspace" ]; then target=prod; fi
if [ -n "$skip" ] || [ -z "$target" ]; then
    say 'the runner is left alone: docs/RUNNER.md says how to run the new wheel'
else
    # What the bundle has to know of the deployment; what you have set yourself counts more.
    : "${DATABRICKS_HOST=$workspace}"
    : "${BUNDLE_VAR_root=$its_root}"
    : "${BUNDLE_VAR_queues=$its_queues}"
    : "${BUNDLE_VAR_functions_client_id=$its_functions}"
    : "${BUNDLE_VAR_runner_client_id=$its_runner}"
    : "${BUNDLE_VAR_telemetry=$its_telemetry}"
    export BUNDLE_VAR_root BUNDLE_VAR_queues BUNDLE_VAR_telemetry
    export BUNDLE_VAR_functions_client_id BUNDLE_VAR_runner_client_id
    # Without a workspace in the deployment, the profile of the command line names it.
    [ -z "$DATABRICKS_HOST" ] || export DATABRICKS_HOST
    cd "$root" # where databricks.yml is, which has the wheel built
    step "deploying the runner to the target $target" \
        'What Databricks needs first, once: docs/RUNNER.md. To do without: --skip-databricks' \
        databricks bundle deploy --target "$target"
    finish "the runner, as a job of the target $target"
    summary=$(databricks bundle summary --target "$target" --output json) ||
        stop 'asking for the number of the job' 'The error stands above.'
    # Nobody has to start a job that is always on. The workspace is named by the job's own page.
    found=$(printf '%s' "$summary" | "$python" -I -S -c 'import json, sys
from urllib.parse import urlsplit
jobs = json.load(sys.stdin)["resources"]["jobs"]
always = jobs.get("continuous", {}).get("continuous", {}).get("pause_status") == "UNPAUSED"
page = urlsplit(jobs["runner"].get("url", ""))
host = f"{page.scheme}://{page.netloc}" if page.netloc else ""
print("" if always else jobs["runner"]["id"], host)') ||
        stop 'asking for the number of the job' 'The bundle has no job called runner.'
    made=${found%% *}
    [ -n "$made" ] || at_work=yes
    # A number in the parameter file is somebody's decision; a number from before may be gone.
    if [ -z "$job_given" ] && [ "$made" != "$job" ]; then
        job=$made
        : "${workspace:=${found#* }}"
        : "${workspace:=$DATABRICKS_HOST}"
        if [ -z "$job" ]; then
            step 'setting the app to start no job, since its runner is always on' \
                'Each resource that failed is named above.' deploy_main
            finish 'the app starts no job'
        elif [ -z "$workspace" ]; then
            stop "setting the app to start job $job" \
                'Which workspace it is in is not known: give databricksWorkspaceUrl in the parameter file.'
        else
            step "setting the app to start job $job" \
                'Each resource that failed is named above.' deploy_main
            finish "the app knows job $job"
        fi
    fi
fi
if [ -n "$job" ] && [ -n "$workspace" ]; then at_work=yes; fi

# --- 3. The app -----------------------------------------------------------------------------------

# Only now: the bundle has built packages too, and always without requirements in them.
set --
[ -z "$version" ] || set -- --python "${version#=}"
[ -z "$vendor" ] || set -- --vendor "$@"
step 'building the packages' 'What is wrong with the checkout stands above.' \
    "$root/dev" package "$@"
for package in "$root"/dist/openmirror-functions-*.zip; do :; done
step "deploying the app to $app" \
    'A network that only lets some in must let this machine reach the app. The log of the build: az functionapp log deployment show --resource-group GROUP --name APP' \
    upload_app
finish 'the app'

# A file that nobody may land, or nobody takes up, would make this fail however often it is tried.
set -- openmirror azure verify --resource-group "$group" --name "$name"
case ${operators#=} in '' | '[]') nobody=yes ;; *) nobody='' ;; esac
if [ -n "$nobody" ] || [ -z "$at_work" ]; then set -- "$@" --no-sample; fi
step 'verifying what was deployed' \
    'What is wrong, and the remedy of each, stands above. New roles may take ten minutes to hold.' \
    "$root/dev" "$@"
if [ -z "$nobody" ] && [ -n "$at_work" ]; then
    say 'done: everything stands, and a file has become a row.'
    exit
fi
say 'done: everything was deployed. No file was landed, to see it become a row:'
if [ -n "$nobody" ]; then
    say '  - the parameter file names no operators, and nobody else may land one. Put yourself there:'
    say '    "operators": {"value": [{"principalId": "ID", "principalType": "User"}]}'
    say '    with your ID (az ad signed-in-user show --query id), and run this command again.'
fi
if [ -z "$at_work" ]; then
    say '  - no runner is known to be at work: docs/RUNNER.md. When a runner is at work:'
    say "    ./dev openmirror azure verify --resource-group '$group' --name $name"
fi
