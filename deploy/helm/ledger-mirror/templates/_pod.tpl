{{/* Labels of a component: (list root component). */}}
{{- define "labels" -}}
app.kubernetes.io/name: ledger-mirror
app.kubernetes.io/instance: {{ (index . 0).Release.Name }}
app.kubernetes.io/component: {{ index . 1 }}
{{- end }}

{{/* What all pods have in common. */}}
{{- define "pod" -}}
serviceAccountName: {{ .Release.Name }}
automountServiceAccountToken: false
# Variables of Services would look like settings.
enableServiceLinks: false
# The first process of the pod takes care of processes whose parent has ended.
shareProcessNamespace: true
terminationGracePeriodSeconds: 90
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile:
    type: RuntimeDefault
volumes:
  - name: data
    emptyDir: {}
  - name: tmp
    emptyDir: {}
{{- end }}

{{/* What all containers have in common. A template may add variables, as `env` comes last. */}}
{{- define "container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
envFrom:
  - secretRef:
      name: {{ .Values.secretName }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop: [ALL]
volumeMounts:
  - name: data
    mountPath: /data
  - name: tmp
    mountPath: /tmp
env:
  {{- range $name, $value := .Values.settings }}
  - name: {{ $name }}
    value: {{ $value | quote }}
  {{- end }}
{{- end }}
